// From a configuration to a model: the only place that knows both.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "fp8/format_family.h"
#include "io/config.h"
#include "model/deepseek.h"
#include "model/llama.h"
#include "ops/backend.h"
#include "ops/gpu/gpu_backend.h"

namespace octet {

/// "cpu", "cuda" or "hip" (the first GPU), "cuda:N" or "hip:N". `threads` are the CPU's; 0 takes every core. UserError
/// for another name or a device that cannot be used; the message says why. `gpu` is of no meaning to a CPU.
[[nodiscard]] std::unique_ptr<ops::Backend> open_device(const std::string& name, int threads = 0,
                                                        const ops::GpuOptions& gpu = {});
[[nodiscard]] std::unique_ptr<ops::Backend> make_backend(const Config& config);

/// The format family that `precision.fp8_format` stands for on this device. UserError names both where the device lacks
/// it; "auto" takes the device's own.
[[nodiscard]] fp8::FormatFamily choose_family(const Config& config, const ops::Backend& backend);

/// UserError where `precision.fp8_max` names another maximum than the format's: values between the two would be clipped
/// or become NaN, silently.
void check_fp8_max(const Config& config, fp8::FormatFamily family);

[[nodiscard]] LlamaConfig llama_config(const Config& config);
[[nodiscard]] DeepSeekConfig deepseek_config(const Config& config);
/// What the optimizer keeps of each element, or, for inference, does not.
[[nodiscard]] SlabStorage slab_storage(const Config& config, bool training);
/// UserError where training.recompute_ops names an op that there is not.
[[nodiscard]] Saving saving_options(const Config& config);
[[nodiscard]] PrecisionOptions precision_options(const Config& config, fp8::FormatFamily family);
/// A model of the configured family. UserError where the family lacks what the configuration asks for.
[[nodiscard]] std::unique_ptr<Model> make_model(const Config& config, const ops::Backend& backend);
/// The same for decoding: of weights, only the codes that forward reads are kept.
[[nodiscard]] std::unique_ptr<Model> make_inference_model(const Config& config, const ops::Backend& backend);
/// The published fault, on purpose: e4m3fnuz codes with scales for a maximum of 448. UserError for any other format.
[[nodiscard]] std::unique_ptr<Model> make_faulty_model(const Config& config, const ops::Backend& backend);

}  // namespace octet
