// tokenizer.json: the vocabulary, its merges, added tokens; the steps around them are in tokenizer_pipeline_json.cpp.
#include "data/tokenizer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/error.h"
#include "data/byte_level.h"
#include "data/flat_map.h"
#include "data/json_fields.h"
#include "data/tokenizer_pipeline_json.h"
#include "io/files.h"
#include "io/text.h"

namespace octet {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// The ids of the vocabulary's strings, as the file writes them; the strings are the JSON's.
using Vocabulary = std::unordered_map<std::string_view, std::int32_t>;

std::string& piece_of(std::int32_t id, TokenizerDefinition& definition) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= definition.pieces.size()) definition.pieces.resize(index + 1);
  return definition.pieces[index];
}

Vocabulary read_vocabulary(const json& vocab, const JsonFields& model) {
  if (!vocab.is_object()) model.refuse("vocab", "is not an object");
  Vocabulary vocabulary;
  vocabulary.reserve(vocab.size());
  std::vector<bool> taken;
  for (const auto& [name, value] : vocab.items()) {
    const std::string path = model.path("vocab") + "[\"" + printable(name, 60) + "\"]";
    const std::int32_t id = token_id_of(value, model.file(), path);
    const auto index = static_cast<std::size_t>(id);
    if (index >= taken.size()) taken.resize(index + 1);
    if (taken[index]) throw UserError("{}: {}: another token has the id {} too", model.file(), path, id);
    if (name.empty()) throw UserError("{}: {}: is empty", model.file(), path);
    taken[index] = true;
    vocabulary.emplace(name, id);
  }
  return vocabulary;
}

/// "a b" or ["a", "b"].
std::pair<std::string_view, std::string_view> merge_sides(const json& merge, const JsonFields& model, std::size_t i) {
  if (merge.is_string()) {
    const std::string_view both = merge.get_ref<const std::string&>();
    const std::size_t space = both.find(' ');
    if (space != std::string_view::npos && both.find(' ', space + 1) == std::string_view::npos) {
      return {both.substr(0, space), both.substr(space + 1)};
    }
  } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>()};
  }
  model.refuse(fmt::format("merges[{}]", i), R"(is neither "a b" nor ["a", "b"])");
}

void read_merges(const json& merges, const Vocabulary& vocabulary, const JsonFields& model,
                 TokenizerDefinition& definition) {
  FlatMap<bool> seen(merges.size());
  definition.merges.reserve(merges.size());
  std::string whole;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto [left, right] = merge_sides(merges[i], model, i);
    const auto id_of = [&](std::string_view token) {
      const auto found = vocabulary.find(token);
      if (found == vocabulary.end()) {
        model.refuse(fmt::format("merges[{}]", i), fmt::format("\"{}\" is not in vocab", printable(token, 60)));
      }
      return found->second;
    };
    whole.assign(left).append(right);
    const BpeMerge merge{id_of(left), id_of(right), id_of(whole), static_cast<std::int32_t>(i)};
    bool& known = seen[pair_key(merge.left, merge.right)];
    if (known) model.refuse(fmt::format("merges[{}]", i), "the same two tokens are merged earlier");
    known = true;
    definition.merges.push_back(merge);
  }
}

void refuse_unless_empty(const JsonFields& fields, const char* name) {
  const json& value = fields.get(name);
  if (!value.is_null() && value != "") fields.refuse(name, "is not supported: byte-level BPE has none");
}

Vocabulary read_model(const json& value, const std::string& file, TokenizerDefinition& definition) {
  if (value.is_object() && value.contains("type") && value["type"] != "BPE") {
    throw UserError("{}: model: the type {} is not supported: Octet has BPE", file,
                    printable(value["type"].dump(-1, ' ', true, json::error_handler_t::replace), 60));
  }
  const JsonFields model(file, "model", value,
                         {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                          "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (!model.get("dropout").is_null() && model.get("dropout") != 0.0) {
    model.refuse("dropout", "is not supported: the same text must become the same tokens");
  }
  refuse_unless_empty(model, "continuing_subword_prefix");
  refuse_unless_empty(model, "end_of_word_suffix");
  if (model.boolean("byte_fallback", false)) model.refuse("byte_fallback", "is not supported: bytes are tokens here");
  // Nothing is unknown where each byte has a token, so unk_token and fuse_unk have no say.
  (void)model.boolean("fuse_unk", false);
  if (!model.get("unk_token").is_null()) (void)model.text("unk_token");
  definition.whole_words = model.boolean("ignore_merges", false);
  Vocabulary vocabulary = read_vocabulary(model.require("vocab"), model);
  read_merges(model.array("merges"), vocabulary, model, definition);
  return vocabulary;
}

void read_added_token(const json& value, const std::string& file, const std::string& path, const Vocabulary& vocabulary,
                      TokenizerDefinition& definition) {
  const JsonFields fields(file, path, value,
                          {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token;
  token.id = fields.token_id("id");
  token.content = fields.text("content");
  if (token.content.empty()) fields.refuse("content", "is empty");
  if (fields.boolean("single_word", false)) fields.refuse("single_word", "is not supported");
  token.lstrip = fields.boolean("lstrip", false);
  token.rstrip = fields.boolean("rstrip", false);
  token.special = fields.boolean("special", false);
  token.normalized = fields.boolean("normalized", !token.special);
  const auto known = vocabulary.find(token.content);
  if (known != vocabulary.end() && known->second != token.id) {
    fields.refuse("id", fmt::format("is {}, but vocab gives \"{}\" the id {}", token.id, printable(token.content, 60),
                                    known->second));
  }
  std::string& piece = piece_of(token.id, definition);
  if (!piece.empty()) fields.refuse("id", fmt::format("another added token has the id {} too", token.id));
  piece = token.content;
  definition.added.push_back(std::move(token));
}

/// Added tokens first: where they are in the vocabulary too, their content is text and not of the bytes' alphabet.
void read_pieces(const JsonFields& root, const Vocabulary& vocabulary, TokenizerDefinition& definition) {
  const json& added = root.get("added_tokens");
  if (!added.is_null() && !added.is_array()) root.refuse("added_tokens", "is not a list");
  std::unordered_map<std::string_view, std::int32_t> contents;
  for (std::size_t i = 0; i < added.size(); ++i) {
    read_added_token(added[i], root.file(), fmt::format("added_tokens[{}]", i), vocabulary, definition);
  }
  for (const AddedToken& token : definition.added) {
    if (!contents.emplace(token.content, token.id).second) {
      root.refuse("added_tokens", fmt::format("\"{}\" occurs twice", printable(token.content, 60)));
    }
  }
  for (const auto& [name, id] : vocabulary) {
    if (contents.contains(name)) continue;
    std::string& piece = piece_of(id, definition);
    if (!piece.empty()) {
      root.refuse("added_tokens", fmt::format("\"{}\" has the id {}, which vocab gives to \"{}\"", printable(piece, 60),
                                              id, printable(name, 60)));
    }
    std::optional<std::string> bytes = from_byte_level(name);
    if (!bytes) {
      root.refuse("model.vocab",
                  fmt::format("\"{}\" is neither in ByteLevel's alphabet nor an added token", printable(name, 60)));
    }
    piece = std::move(*bytes);
  }
}

void check_template(const TokenizerDefinition& definition, const std::string& file) {
  for (const auto* tokens : {&definition.prefix, &definition.suffix}) {
    for (const std::int32_t id : *tokens) {
      const auto index = static_cast<std::size_t>(id);
      if (index >= definition.pieces.size() || definition.pieces[index].empty()) {
        throw UserError("{}: post_processor: no token has the id {}", file, id);
      }
    }
  }
}

std::optional<std::string> token_name(const json& config, const char* member, const std::string& file) {
  const auto found = config.find(member);
  if (found == config.end() || found->is_null()) return {};
  if (found->is_string()) return found->get<std::string>();
  if (found->is_object() && found->contains("content") && (*found)["content"].is_string()) {
    return (*found)["content"].get<std::string>();
  }
  throw UserError("{}: {}: is neither a name nor an object with a content", file, member);
}

}  // namespace

TokenizerDefinition parse_tokenizer_json(std::string_view text, const std::string& file) {
  const json parsed = parse_strict_json(text, file);
  const JsonFields root(file, "", parsed,
                        {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                         "post_processor", "decoder", "model"});
  TokenizerDefinition definition;
  definition.name = file;
  if (!root.get("version").is_null() && root.get("version") != "1.0") root.refuse("version", "is not \"1.0\"");
  for (const char* cut : {"truncation", "padding"}) {
    if (!root.get(cut).is_null()) root.refuse(cut, "would change what texts become: set it to null");
  }
  read_normalizer(root.get("normalizer"), file, definition);
  read_pre_tokenizer(root.get("pre_tokenizer"), file, definition);
  read_post_processor(root.get("post_processor"), file, definition);
  check_decoder(root.get("decoder"), file);
  const Vocabulary vocabulary = read_model(root.require("model"), file, definition);
  read_pieces(root, vocabulary, definition);
  check_template(definition, file);
  return definition;
}

void parse_tokenizer_config(std::string_view text, const std::string& file, TokenizerDefinition& definition) {
  const json config = parse_strict_json(text, file);
  if (!config.is_object()) throw UserError("{}: is not an object", file);
  definition.bos = token_name(config, "bos_token", file);
  definition.eos = token_name(config, "eos_token", file);
}

TokenizerDefinition read_tokenizer_json(const std::filesystem::path& path) {
  TokenizerDefinition definition = parse_tokenizer_json(read_file(path), path.string());
  const std::filesystem::path config = path.parent_path() / "tokenizer_config.json";
  if (std::filesystem::exists(config)) parse_tokenizer_config(read_file(config), config.string(), definition);
  return definition;
}

std::string tokenizer_json_text(const TokenizerDefinition& definition) {
  std::vector<std::string> names(definition.pieces.size());
  for (std::size_t id = 0; id < names.size(); ++id) names[id] = to_byte_level(definition.pieces[id]);
  ordered_json added = ordered_json::array();
  for (const AddedToken& token : definition.added) {
    names[static_cast<std::size_t>(token.id)] = token.content;
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"single_word", false},
                     {"lstrip", token.lstrip},
                     {"rstrip", token.rstrip},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  }
  ordered_json::object_t vocab;  // appended to: looking for each name in turn would take quadratic time
  vocab.reserve(names.size());
  for (std::size_t id = 0; id < names.size(); ++id) {
    if (!names[id].empty()) vocab.emplace_back(names[id], id);
  }
  std::vector<BpeMerge> sorted = definition.merges;
  std::sort(sorted.begin(), sorted.end(), [](const BpeMerge& a, const BpeMerge& b) { return a.rank < b.rank; });
  ordered_json merges = ordered_json::array();
  for (const BpeMerge& merge : sorted) {
    merges.push_back(ordered_json::array(
        {names[static_cast<std::size_t>(merge.left)], names[static_cast<std::size_t>(merge.right)]}));
  }
  const ordered_json file = {{"version", "1.0"},
                             {"truncation", nullptr},
                             {"padding", nullptr},
                             {"added_tokens", std::move(added)},
                             {"normalizer", normalizer_json(definition)},
                             {"pre_tokenizer", pre_tokenizer_json(definition)},
                             {"post_processor", post_processor_json(definition)},
                             {"decoder", byte_level_json()},
                             {"model",
                              {{"type", "BPE"},
                               {"dropout", nullptr},
                               {"unk_token", nullptr},
                               {"continuing_subword_prefix", nullptr},
                               {"end_of_word_suffix", nullptr},
                               {"fuse_unk", false},
                               {"byte_fallback", false},
                               {"ignore_merges", definition.whole_words},
                               {"vocab", std::move(vocab)},
                               {"merges", std::move(merges)}}}};
  return file.dump(2) + "\n";
}

}  // namespace octet
