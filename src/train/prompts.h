// Files of prompts: one a line, as text or as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// The prompts of a file, in its order: where its name ends in .jsonl, each line is a JSON object whose "prompt" is a
/// text (other members are left alone); elsewhere each line is a prompt as it stands. Throws UserError, and names the
/// line, for one that is empty or no such object, and for a file without lines.
[[nodiscard]] std::vector<std::string> parse_prompts(std::string_view text, const std::filesystem::path& path);

}  // namespace octet
