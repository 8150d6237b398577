// tokenize.state.json: how far a job of tokenize_documents() has come. It is there while the manifest is not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "data/input_files.h"
#include "data/split_writer.h"
#include "data/tokenize_documents.h"

namespace octet {

/// What was asked for, as manifests keep it.
[[nodiscard]] nlohmann::ordered_json options_json(const TokenizeJob& job);

/// Everything that decides the bytes of the shards, in a form that a later run compares with its own.
[[nodiscard]] nlohmann::ordered_json job_json(const Tokenizer& tokenizer, const TokenizeJob& job,
                                              std::span<const DocumentFile> files);

struct BothSplits {
  SplitProgress train, validation;
};

/// What is left of an earlier run of the job in its folder, which is made where it is missing. Throws UserError where
/// the folder holds a manifest, shards without a state, the state of another job, or shards that are not as the state
/// says.
[[nodiscard]] BothSplits begin_or_go_on(const Tokenizer& tokenizer, const std::filesystem::path& folder,
                                        const nlohmann::ordered_json& job);

void save_state(const std::filesystem::path& folder, const nlohmann::ordered_json& job, const SplitProgress& train,
                const SplitProgress& validation);

/// Once there is a manifest.
void remove_state(const std::filesystem::path& folder);

}  // namespace octet
