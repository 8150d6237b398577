// A two-layer model small enough to build, train and save in milliseconds.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/mix.h"
#include "io/config.h"
#include "train/engine.h"
#include "train/model_setup.h"

namespace octet::test {

inline constexpr std::string_view kSmallConfig = R"(version = 1
[model]
dim = 32
n_layers = 2
n_heads = 2
n_kv_heads = 1
ffn_dim = 64
[training]
steps = 4
seq_len = 16
batch_size = 2
[optimizer]
lr = 1e-3
[precision]
min_size = 0
[data]
train = "train.tok"
)";

/// `overrides` are "section.key=value".
inline LoadedConfig small_config(const std::vector<std::string>& overrides = {}) {
  return parse_config(kSmallConfig, "small.toml", overrides);
}

/// A position in data that are no mix.
inline MixState position_in_data(LoaderState position) {
  return {{{.rule = {}, .position = position}}};
}

/// An engine with initial weights and tokens of its own: ready for compute_gradients().
inline Engine small_engine(const Config& config, std::unique_ptr<ops::Backend> backend, bool keeps_gradients = false) {
  auto model = make_model(config, *backend);
  Engine engine(config, std::move(backend), std::move(model), keeps_gradients);
  engine.allocate();
  engine.model().parameters().initialize(engine.backend().device(), 1);
  engine.weights_changed();
  const auto fill = [](std::span<std::int32_t> tokens, std::int32_t first) {
    std::ranges::generate(tokens, [&first] { return first = (first * 37 + 11) % 256; });
  };
  fill(engine.inputs(), 1);
  fill(engine.targets(), 2);
  return engine;
}

inline Engine small_engine(const Config& config, bool keeps_gradients = false) {
  return small_engine(config, make_backend(config), keeps_gradients);
}

/// The fp32 master weights of a parameter by its name, such as "layers.1.attention.wo.weight".
inline std::span<float> master_of(Engine& engine, std::string_view name) {
  for (const Slab& slab : engine.model().parameters().slabs()) {
    for (const Parameter& parameter : slab.parameters()) {
      if (parameter.name == name) {
        return {slab.master().ptr<float>() + parameter.offset, static_cast<std::size_t>(parameter.numel())};
      }
    }
  }
  throw Failure("the small model has no {}", name);
}

}  // namespace octet::test
