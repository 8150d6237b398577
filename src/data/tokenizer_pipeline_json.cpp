// The steps around the model, each by its "type".
#include "data/tokenizer_pipeline_json.h"

#include <array>
#include <string_view>

#include "core/error.h"
#include "data/json_fields.h"
#include "data/split_presets.h"
#include "io/text.h"

namespace octet {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct NamedBehavior {
  std::string_view name;
  SplitBehavior behavior;
};
constexpr std::array<NamedBehavior, 5> kBehaviors = {{{"Isolated", SplitBehavior::isolated},
                                                      {"Removed", SplitBehavior::removed},
                                                      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
                                                      {"MergedWithNext", SplitBehavior::merged_with_next},
                                                      {"Contiguous", SplitBehavior::contiguous}}};

std::string type_of(const json& value, const std::string& file, const std::string& path) {
  if (value.is_object()) {
    const auto type = value.find("type");
    if (type != value.end() && type->is_string()) return type->get<std::string>();
  }
  throw UserError("{}: {}: has no type", file, path);
}

[[noreturn]] void refuse_type(const std::string& file, const std::string& path, const std::string& type,
                              std::string_view known) {
  throw UserError("{}: {}: the type {} is not supported: Octet has {}", file, path, printable(type, 60), known);
}

std::string element(const std::string& path, std::size_t i) {
  return fmt::format("{}[{}]", path, i);
}

void read_normalizer_step(const json& value, const std::string& file, const std::string& path,
                          TokenizerDefinition& definition) {
  const std::string type = type_of(value, file, path);
  if (type == "Sequence") {
    const JsonFields fields(file, path, value, {"type", "normalizers"});
    const json& steps = fields.array("normalizers");
    for (std::size_t i = 0; i < steps.size(); ++i) {
      read_normalizer_step(steps[i], file, element(fields.path("normalizers"), i), definition);
    }
  } else if (type == "NFC") {
    const JsonFields fields(file, path, value, {"type"});
    definition.nfc = true;
  } else {
    refuse_type(file, path, type, "NFC, and Sequence of it");
  }
}

/// The characters of a text as a pattern that matches just them.
std::string literal_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view(R"(\^$.|?*+()[]{})").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

SplitStage read_split(const json& value, const std::string& file, const std::string& path) {
  const JsonFields fields(file, path, value, {"type", "pattern", "behavior", "invert"});
  SplitStage stage;
  const JsonFields pattern(file, fields.path("pattern"), fields.require("pattern"), {"Regex", "String"});
  const bool regex = !pattern.get("Regex").is_null();
  if (regex == !pattern.get("String").is_null()) fields.refuse("pattern", "is neither one Regex nor one String");
  stage.pattern = regex ? pattern.text("Regex") : literal_pattern(pattern.text("String"));
  if (stage.pattern.empty()) fields.refuse("pattern", "is empty");
  const std::string name = fields.text("behavior");
  const NamedBehavior* known = nullptr;
  for (const NamedBehavior& behavior : kBehaviors) {
    if (behavior.name == name) known = &behavior;
  }
  if (known == nullptr) fields.refuse("behavior", fmt::format("{} is not known", printable(name, 60)));
  stage.behavior = known->behavior;
  stage.invert = fields.boolean("invert", false);
  return stage;
}

/// True when the step was ByteLevel, after which nothing can be split any more.
bool read_pre_tokenizer_step(const json& value, const std::string& file, const std::string& path,
                             TokenizerDefinition& definition) {
  const std::string type = type_of(value, file, path);
  bool byte_level = false;
  if (type == "Sequence") {
    const JsonFields fields(file, path, value, {"type", "pretokenizers"});
    const json& steps = fields.array("pretokenizers");
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::string at = element(fields.path("pretokenizers"), i);
      if (byte_level) throw UserError("{}: {}: stands after ByteLevel, which Octet has last", file, at);
      byte_level = read_pre_tokenizer_step(steps[i], file, at, definition);
    }
  } else if (type == "Split") {
    definition.stages.push_back(read_split(value, file, path));
  } else if (type == "Digits") {
    const JsonFields fields(file, path, value, {"type", "individual_digits"});
    definition.stages.push_back(
        {R"(\p{N})", fields.boolean("individual_digits", false) ? SplitBehavior::isolated : SplitBehavior::contiguous});
  } else if (type == "ByteLevel") {
    const JsonFields fields(file, path, value, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    if (fields.boolean("add_prefix_space", true)) definition.stages.push_back({});
    if (fields.boolean("use_regex", true)) definition.stages.push_back({std::string(kGpt2Pattern)});
    (void)fields.boolean("trim_offsets", true);  // of offsets, which Octet does not give
    byte_level = true;
  } else {
    refuse_type(file, path, type, "ByteLevel, Split, Digits, and Sequence of them");
  }
  return byte_level;
}

/// "<|begin_of_text|>" of a template, as the ids that its special_tokens give.
void read_template_token(const json& piece, const std::string& path, const JsonFields& fields,
                         std::vector<std::int32_t>& tokens) {
  const JsonFields token(fields.file(), path, piece, {"id", "type_id"});
  const std::string name = token.text("id");
  const json& specials = fields.require("special_tokens");
  const auto found = specials.is_object() ? specials.find(name) : specials.end();
  if (!specials.is_object() || found == specials.end()) token.refuse("id", "is not among special_tokens");
  const JsonFields special(fields.file(), fields.path("special_tokens." + printable(name, 60)), *found,
                           {"id", "ids", "tokens"});
  for (const json& id : special.array("ids")) {
    const std::int32_t value = token_id_of(id, fields.file(), special.path("ids"));
    tokens.push_back(value);
  }
}

void read_template(const json& value, const std::string& file, const std::string& path,
                   TokenizerDefinition& definition) {
  const JsonFields fields(file, path, value, {"type", "single", "pair", "special_tokens"});
  const json& pieces = fields.array("single");
  bool seen = false;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string at = element(fields.path("single"), i);
    const JsonFields piece(file, at, pieces[i], {"SpecialToken", "Sequence"});
    if (!piece.get("SpecialToken").is_null()) {
      read_template_token(piece.get("SpecialToken"), piece.path("SpecialToken"), fields,
                          seen ? definition.suffix : definition.prefix);
    } else {
      const JsonFields sequence(file, piece.path("Sequence"), piece.require("Sequence"), {"id", "type_id"});
      if (seen || sequence.text("id") != "A") sequence.refuse("id", "a text has one sequence, A");
      seen = true;
    }
  }
  if (!seen) fields.refuse("single", "has no place for the text");
}

void read_post_processor_step(const json& value, const std::string& file, const std::string& path,
                              TokenizerDefinition& definition) {
  const std::string type = type_of(value, file, path);
  if (type == "Sequence") {
    const JsonFields fields(file, path, value, {"type", "processors"});
    const json& steps = fields.array("processors");
    for (std::size_t i = 0; i < steps.size(); ++i) {
      read_post_processor_step(steps[i], file, element(fields.path("processors"), i), definition);
    }
  } else if (type == "ByteLevel") {  // of offsets, which Octet does not give
    const JsonFields fields(file, path, value, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
  } else if (type == "TemplateProcessing") {
    if (!definition.prefix.empty() || !definition.suffix.empty()) {
      throw UserError("{}: {}: is a second template", file, path);
    }
    read_template(value, file, path, definition);
  } else {
    refuse_type(file, path, type, "ByteLevel, TemplateProcessing, and Sequence of them");
  }
}

}  // namespace

void read_normalizer(const json& value, const std::string& file, TokenizerDefinition& definition) {
  if (!value.is_null()) read_normalizer_step(value, file, "normalizer", definition);
}

void read_pre_tokenizer(const json& value, const std::string& file, TokenizerDefinition& definition) {
  if (value.is_null() || !read_pre_tokenizer_step(value, file, "pre_tokenizer", definition)) {
    throw UserError("{}: pre_tokenizer: has no ByteLevel: Octet has byte-level BPE only", file);
  }
}

void read_post_processor(const json& value, const std::string& file, TokenizerDefinition& definition) {
  if (!value.is_null()) read_post_processor_step(value, file, "post_processor", definition);
}

void check_decoder(const json& value, const std::string& file) {
  if (value.is_null()) throw UserError("{}: decoder: is missing: byte-level BPE has ByteLevel", file);
  const std::string type = type_of(value, file, "decoder");
  if (type != "ByteLevel") refuse_type(file, "decoder", type, "ByteLevel");
  const JsonFields fields(file, "decoder", value, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
}

ordered_json byte_level_json() {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
}

ordered_json normalizer_json(const TokenizerDefinition& definition) {
  return definition.nfc ? ordered_json{{"type", "NFC"}} : ordered_json();
}

ordered_json pre_tokenizer_json(const TokenizerDefinition& definition) {
  ordered_json steps = ordered_json::array();
  for (const SplitStage& stage : definition.stages) {
    check(!stage.pattern.empty(), "a definition that is written puts no space before its text");
    std::string_view behavior;
    for (const NamedBehavior& known : kBehaviors) {
      if (known.behavior == stage.behavior) behavior = known.name;
    }
    steps.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", stage.pattern}}}, {"behavior", behavior}, {"invert", stage.invert}});
  }
  steps.push_back(byte_level_json());
  return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

ordered_json post_processor_json(const TokenizerDefinition& definition) {
  ordered_json bytes = byte_level_json();
  bytes["trim_offsets"] = false;
  if (definition.prefix.empty() && definition.suffix.empty()) return bytes;
  ordered_json pieces = ordered_json::array(), specials = ordered_json::object();
  const auto add = [&](const std::vector<std::int32_t>& tokens) {
    for (const std::int32_t id : tokens) {
      const std::string& name = definition.pieces[static_cast<std::size_t>(id)];
      pieces.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
      specials[name] = {{"id", name}, {"ids", {id}}, {"tokens", {name}}};
    }
  };
  add(definition.prefix);
  pieces.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  add(definition.suffix);
  ordered_json pair = pieces;
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 0}}}});
  const ordered_json around = {{"type", "TemplateProcessing"},
                               {"single", std::move(pieces)},
                               {"pair", std::move(pair)},
                               {"special_tokens", std::move(specials)}};
  return {{"type", "Sequence"}, {"processors", {std::move(bytes), around}}};
}

}  // namespace octet
