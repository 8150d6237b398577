// What a buffer holds before a run, as words of a command line ask for it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet::sim {

/// Of a word "KIND=TEXT", the bytes:
///
///     zeros=BYTES        zeros
///     bytes=BYTES        0, 1, ... 255, 0, ...
///     range=COUNT        32-bit integers 0, 1, 2, ...
///     random=BYTES:SEED  random bytes
///     floats=COUNT:SEED  32-bit floats of a normal distribution, mean 0 and deviation 1
///     bf16=COUNT:SEED    the same, rounded to bf16
///     file=PATH          a file's contents
///     unwritten=BYTES    none: so many bytes that a kernel has to write before it reads them
///
/// A seed gives the same contents in each run; ":SEED" may be left out. Nothing for another kind. UserError when TEXT
/// is not what the kind takes; `word` stands for it.
[[nodiscard]] std::optional<std::vector<std::byte>> buffer_contents(std::string_view kind, const std::string& text,
                                                                    const std::string& word);

/// UserError when it cannot be read.
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path& path);

}  // namespace octet::sim
