// The first values of a buffer after a run, as the command line asks for them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/memory/memory.h"
#include "sim/tool/launch_arguments.h"

namespace octet::sim {

/// "2:f32:8": of the buffer that is argument 2, the first 8 values as f32.
struct ValueRequest {
  const ArgumentBuffer* buffer;
  std::string type;
  std::uint64_t count;
};

/// ARGUMENT:TYPE, or ARGUMENT:TYPE:COUNT (8 if left out); TYPE is u8, i8, u16, i16, u32, i32, u64, i64, bf16, f32 or
/// f64. UserError when `word` is no such request, or the argument no buffer. `arguments` must outlive the request.
[[nodiscard]] ValueRequest parse_value_request(const std::string& word, const LaunchArguments& arguments);

/// An array of numbers: all there are, if these are fewer than asked for.
[[nodiscard]] nlohmann::ordered_json buffer_values(const ValueRequest& request, const Memory& memory);

/// "argument 2 (sums): 0 2 4 6", a line.
[[nodiscard]] std::string values_text(const ValueRequest& request, const nlohmann::ordered_json& values);

}  // namespace octet::sim
