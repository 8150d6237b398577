// The made-up runs, written as the JSON that the reader is to understand.
#include "io/report_fixture.h"

#include <fmt/format.h>

namespace octet::io::testing {

using Json = nlohmann::json;

Json run_json(std::string_view name, std::string_view recipe) {
  const bool fp8 = recipe != "bf16";
  const std::string precision = fp8 ? "fp8 e4m3fn rowwise" : "bf16";
  return Json{
      {"version", 1},
      {"name", name},
      {"status", "finished"},
      {"command_line", {"octet", "train", "configs/x.toml"}},
      {"commit", "0123abcd"},
      {"binary_hash", "89abcdef01234567"},
      {"started", "2026-01-02T03:04:05Z"},
      {"finished", "2026-01-02T03:05:05Z"},
      {"config", {{"training", {{"steps", 10}, {"seed", 7}}}, {"precision", {{"recipe", recipe}}}}},
      {"origins", {{"training.steps", "configs/x.toml:12"}}},
      {"machine", {{"cpu", "A processor"}, {"cores", 2}, {"isa", "avx512_amx"}, {"memory_bytes", 17179869184}}},
      {"libraries", {{"oneDNN", "2.6.3"}}},
      {"model", {{"parameters", 3412224}, {"flops_per_token", 2.25e7}}},
      {"precision",
       {{"recipe", recipe},
        {"format", fp8 ? Json("e4m3fn") : Json(nullptr)},
        {"layers_fp8", fp8 ? 1 : 0},
        {"layers",
         {{{"layer", "layers.0.wqkv"},
           {"m", 1024},
           {"n", 512},
           {"k", 256},
           {"precision", precision},
           {"reason", "recipe"}},
          {{"layer", "output"}, {"m", 1024}, {"n", 260}, {"k", 256}, {"precision", "bf16"}, {"reason", "filtered"}}}}}},
      {"memory",
       {{"planned_bytes", 3145728},
        {"measured_bytes", 3145728},
        {"categories", {{"parameters", 1048576}, {"activations", 2097152}}}}},
      {"result",
       {{"train_loss", 2.9},
        {"val_loss", 3.0},
        {"tokens_per_second", 9000.4},
        {"ms_per_step", 110.25},
        {"fp8_codes_used", fp8 ? 200 : 0}}},
      {"demonstration", nullptr},
      {"sample", {{"prompt", "Once"}, {"text", " upon a time"}}}};
}

std::string metrics_jsonl(int steps, double last_val_loss) {
  std::string lines;
  for (int step = 1; step <= steps; ++step) {
    Json line{{"step", step}, {"loss", 3.0 + 1.0 / step},    {"grad_norm", 1.0 / step}, {"lr", 0.001},
              {"ms", 110.0},  {"tokens_per_second", 9000.0}, {"memory_bytes", 1000}};
    if (step % 5 == 0) line["val_loss"] = last_val_loss + 0.1 * (steps - step);
    lines += line.dump() + "\n";
  }
  return lines;
}

RunRecord run_record(std::string_view name, std::string_view recipe, double val_loss) {
  Json run = run_json(name, recipe);
  run["result"]["val_loss"] = val_loss;
  return parse_run(fmt::format("runs/{}", name), run.dump(), metrics_jsonl(10, val_loss));
}

RunRecord demonstration_record(std::string_view name) {
  Json run = run_json(name, "rowwise");
  run["result"]["train_loss"] = nullptr;
  run["result"]["val_loss"] = nullptr;
  run["demonstration"] = {{"fault", "fnuz_max_448"},
                          {"saturated_share", 0.314},
                          {"nan_share_unsaturated", 0.25},
                          {"refused_message", "448 does not fit e4m3fnuz, whose largest value is 240"}};
  return parse_run(fmt::format("runs/{}", name), run.dump(), metrics_jsonl(10, 3));
}

}  // namespace octet::io::testing
