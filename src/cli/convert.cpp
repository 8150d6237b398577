// octet convert IN OUT: a model from Hugging Face's layout to Octet's, or back.
#include "convert/convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "core/error.h"
#include "io/text.h"

namespace octet::cli {
namespace {

struct ConvertCommand {
  std::string in, out, like;
  std::string dtype = "keep";
  std::string shard_size = "5GB";
  bool dry_run = false;
  bool config_only = false;
  bool json = false;
};

/// "5GB", "500MB", "100KB" or a number of bytes; decimal, as Hugging Face counts.
std::uint64_t parse_bytes(const std::string& text) {
  static const std::map<std::string_view, std::uint64_t> units = {
      {"", 1}, {"B", 1}, {"KB", 1'000}, {"MB", 1'000'000}, {"GB", 1'000'000'000}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto unit = units.find(std::string_view(text).substr(digits));
  if (digits == 0 || digits > 9 || unit == units.end() || std::stoull(text) == 0) {
    throw UserError("--shard-size \"{}\": write a number and KB, MB or GB, such as 5GB", printable(text));
  }
  return std::stoull(text) * unit->second;
}

ConvertOptions options_of(const ConvertCommand& command) {
  ConvertOptions options;
  if (command.dtype == "bf16") options.dtype = WrittenDType::bf16;
  if (command.dtype == "fp32") options.dtype = WrittenDType::fp32;
  options.shard_bytes = parse_bytes(command.shard_size);
  if (!command.like.empty()) options.like = command.like;
  return options;
}

/// Says on a terminal how far a conversion is, twice a second.
class WriteProgress {
 public:
  explicit WriteProgress(std::uint64_t total) : total_(total), shown_(isatty(STDERR_FILENO) != 0) {}
  ~WriteProgress() {
    if (printed_) fmt::print(stderr, "\n");
  }
  WriteProgress(const WriteProgress&) = delete;
  WriteProgress& operator=(const WriteProgress&) = delete;

  void operator()(std::uint64_t bytes) {
    const auto now = Clock::now();
    if (!shown_ || (now - last_ < std::chrono::milliseconds(500) && bytes < total_)) return;
    last_ = now;
    printed_ = true;
    const double seconds = std::max(std::chrono::duration<double>(now - start_).count(), 1e-6);
    const double rate = static_cast<double>(bytes) / seconds;
    fmt::print(stderr, "\r{:5.1f} % of {:.2f} GB, {:.2f} GB/s, {:.0f} s left   ",
               100.0 * static_cast<double>(bytes) / static_cast<double>(total_), static_cast<double>(total_) / 1e9,
               rate / 1e9, static_cast<double>(total_ - bytes) / rate);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::uint64_t total_;
  bool shown_;
  bool printed_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

constexpr std::string_view layout_name(ModelLayout layout) {
  return layout == ModelLayout::octet ? "octet" : "hugging_face";
}

std::string shape_text(const FileTensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape, ", "));
}

nlohmann::ordered_json describe(const ModelSource& source, const Conversion& plan, const ConvertCommand& command) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const PlannedFile& file : plan.files) {
    nlohmann::ordered_json described = {{"name", file.name}, {"tensors", file.tensors.size()}};
    if (command.dry_run) {
      described["tensors"] = nlohmann::ordered_json::array();
      for (const PlannedTensor& tensor : file.tensors) {
        const FileTensor* stored = tensor.source->stored.tensor;
        described["tensors"].push_back({{"name", tensor.target.name},
                                        {"from", stored == nullptr ? "" : stored->name},
                                        {"shape", tensor.target.shape},
                                        {"from_dtype", stored == nullptr ? "" : file_dtype_name(stored->dtype)},
                                        {"dtype", file_dtype_name(tensor.target.dtype)}});
      }
    }
    files.push_back(described);
  }
  nlohmann::ordered_json side_files = nlohmann::ordered_json::array();
  for (const auto& path : plan.side_files) side_files.push_back(path.filename().string());
  return {{"from", layout_name(source.layout())},
          {"to", layout_name(plan.to)},
          {"family", config_name(source.config().config.model.family)},
          {"written", !command.dry_run},
          {"elements", plan.elements},
          {"bytes", plan.bytes},
          {"files", files},
          {"copied", side_files},
          {"left_out", source.left_out()}};
}

void print_tensors(const Conversion& plan) {
  for (const PlannedFile& file : plan.files) {
    fmt::print("{}\n", file.name);
    for (const PlannedTensor& tensor : file.tensors) {
      const FileTensor* stored = tensor.source->stored.tensor;
      fmt::print("  {:<56} {:<4} {:<16} from {}\n", tensor.target.name, file_dtype_name(tensor.target.dtype),
                 shape_text(tensor.target),
                 stored == nullptr ? "nothing: zeros"
                                   : fmt::format("{} {}", file_dtype_name(stored->dtype), printable(stored->name)));
    }
  }
}

void print_summary(const ModelSource& source, const Conversion& plan, const ConvertCommand& command) {
  std::size_t tensors = 0;
  for (const PlannedFile& file : plan.files) tensors += file.tensors.size();
  fmt::print("{}: {} tensors, {} parameters, {:.3f} GB in {} {}\n", config_name(source.config().config.model.family),
             tensors, plan.elements, static_cast<double>(plan.bytes) / 1e9, plan.files.size(),
             plan.files.size() == 1 ? "file" : "files");
  for (const auto& path : plan.side_files) fmt::print("copied: {}\n", printable(path.filename().string()));
  if (const auto& left_out = source.left_out(); !left_out.empty()) {
    fmt::print("left out, as the other side has none: {} tensors, such as {}\n", left_out.size(),
               printable(left_out.front()));
  }
  fmt::print("{}: {}\n", command.dry_run ? "nothing written, would be" : "done", printable(command.out));
}

void write_config(const ModelSource& source, const Conversion& plan, const std::string& out) {
  if (plan.to != ModelLayout::octet) {
    throw UserError("--config-only makes a configuration of Octet's, which {} has already",
                    printable(source.directory().string()));
  }
  std::error_code none;
  if (std::filesystem::exists(out, none)) throw UserError("{} is there already: choose another name", printable(out));
  write_file_atomically(out, plan.config_text);
  fmt::print("done: {}\n", printable(out));
}

void run(const ConvertCommand& command) {
  const ConvertOptions options = options_of(command);
  const ModelSource source = ModelSource::open(command.in);
  const Conversion plan = plan_conversion(source, options);
  if (command.config_only) return write_config(source, plan, command.out);
  if (!command.dry_run) {
    WriteProgress progress(plan.bytes);
    write_conversion(plan, command.out, [&](std::uint64_t bytes) { progress(bytes); });
  }
  if (command.json) {
    fmt::print("{}\n", describe(source, plan, command).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  if (command.dry_run) print_tensors(plan);
  print_summary(source, plan, command);
}

}  // namespace

namespace {

void add_writing_options(CLI::App& command, ConvertCommand& options) {
  command.add_option("--dtype", options.dtype, "keep (the default), bf16 or fp32")
      ->check(CLI::IsMember({"keep", "bf16", "fp32"}));
  command.add_option("--shard-size", options.shard_size,
                     "Tensors in one file of Hugging Face's, such as 500MB (default 5GB)");
  command.add_option("--like", options.like,
                     "A directory of Hugging Face's whose tokenizer, context and special tokens the new one gets");
}

}  // namespace

void add_convert(CLI::App& app) {
  auto options = std::make_shared<ConvertCommand>();
  CLI::App* command = app.add_subcommand("convert", "Convert a model from Hugging Face's files to Octet's, or back");
  command->add_option("in", options->in, "A directory of Hugging Face's; or a run, a checkpoint, a converted model")
      ->required();
  command->add_option("out", options->out, "The directory to make, in the other layout")->required();
  add_writing_options(*command, *options);
  CLI::Option* only =
      command->add_flag("--config-only", options->config_only, "Write only the configuration, as the TOML file OUT");
  command->add_flag("--dry-run", options->dry_run, "Check the model, list its tensors, write nothing")->excludes(only);
  command->add_flag("--json", options->json, "Print JSON")->excludes(only);
  command->callback([options] { run(*options); });
}

void add_export(CLI::App& checkpoint) {
  auto options = std::make_shared<ConvertCommand>();
  CLI::App* command = checkpoint.add_subcommand("export", "Write a checkpoint as a directory of Hugging Face's");
  command->add_option("directory", options->in, "Directory of a run, whose newest checkpoint counts, or one checkpoint")
      ->required();
  command->add_option("out", options->out, "The directory to make")->required();
  add_writing_options(*command, *options);
  command->callback([options] {
    export_model(options->in, options->out, options_of(*options));
    fmt::print("done: {}\n", printable(options->out));
  });
}

}  // namespace octet::cli
