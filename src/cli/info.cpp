// octet info: what this binary is and what it finds on this machine.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/plan_text.h"
#include "core/version.h"
#include "ops/cpu/cpu_backend.h"
#include "ops/cpu/tile_product.h"
#include "ops/gpu/gpu_backend.h"
#include "ops/gpu/verified_hardware.h"
#include "train/machine.h"

namespace octet::cli {
namespace {

/// Where it is and of which version, or what to do about it.
nlohmann::ordered_json describe(const gpu::VendorLibrary& library) {
  if (!library.problem.empty()) return {{"name", library.name}, {"problem", library.problem}};
  nlohmann::ordered_json found{{"name", library.name}, {"version", library.version}, {"path", library.path}};
  if (!library.note.empty()) found["note"] = library.note;
  return found;
}

bool verified(std::string_view backend, std::string_view arch) {
  return !ops::verified_on(backend, arch).empty();
}

/// What the self-test and training have passed on, or that they never did, and what to do then.
std::string verification(std::string_view backend, std::string_view arch, std::string_view device) {
  if (!verified(backend, arch)) return ops::unverified_notice(backend, arch, device);
  return fmt::format("verified on {}", ops::verified_on(backend, arch));
}

/// A vendor's GPUs that can be used among the devices, and what cannot, with the reason, among what is left out.
void add_gpus(const char* backend, const ops::GpuSurvey& survey, const char* products, nlohmann::ordered_json& devices,
              nlohmann::ordered_json& left_out, nlohmann::ordered_json& libraries) {
  if (survey.gpus.empty()) left_out.push_back({{"backend", backend}, {"reason", survey.problem}});
  for (const ops::FoundGpu& gpu : survey.gpus) {
    if (!gpu.refusal.empty()) {
      left_out.push_back({{"backend", gpu.name}, {"reason", gpu.refusal}});
      continue;
    }
    const std::string_view format = fp8::name(fp8::forward_format(gpu.family));
    devices.push_back({{"name", gpu.name},
                       {"description", gpu.description},
                       {"verified", verified(backend, gpu.arch)},
                       {"verification", verification(backend, gpu.arch, gpu.name)},
                       {"fp8_formats", {format}},
                       {"fp8_format_auto", format},
                       {"fp8_format_reason", fmt::format("{} multiplies no other e4m3", gpu.arch)},
                       {"warp_size", gpu.warp_size},
                       {"shared_memory_bytes", gpu.shared_bytes},
                       {"matrix_products", "bf16"},
                       {"matrix_products_reason", products}});
  }
  for (const gpu::VendorLibrary& library : survey.libraries) libraries.push_back(describe(library));
}

nlohmann::ordered_json gather() {
  const MachineFacts machine = machine_facts();
  const auto backend = ops::make_cpu_backend();
  const bool bf16_products = ops::cpu::TileProducts::fastest_operands() == DType::bf16;
  nlohmann::ordered_json formats = nlohmann::ordered_json::array();
  for (const auto family : backend->device().families()) formats.push_back(fp8::name(fp8::forward_format(family)));
  nlohmann::ordered_json devices = {
      {{"name", "cpu"},
       {"description", backend->device().description()},
       {"verified", verified("cpu", "")},
       {"verification", verification("cpu", "", "cpu")},
       {"kernels", machine.isa},
       {"fp8_formats", formats},
       {"fp8_format_auto", formats.front()},
       {"matrix_products", bf16_products ? "bf16" : "fp32"},
       {"matrix_products_reason", bf16_products ? "the processor multiplies bf16 (avx512_bf16 or AMX)"
                                                : "the processor has no fast bf16 (avx512_bf16 or AMX), or "
                                                  "ONEDNN_MAX_CPU_ISA hides it"}}};
  nlohmann::ordered_json left_out = nlohmann::ordered_json::array();
  nlohmann::ordered_json gpu_libraries = nlohmann::ordered_json::array();
  add_gpus("cuda", ops::survey_cuda_devices(), "and FP8, by cuBLASLt", devices, left_out, gpu_libraries);
  add_gpus("hip", ops::survey_hip_devices(), "and FP8, by own MFMA kernels", devices, left_out, gpu_libraries);
  return {{"version", kVersion},
          {"commit", kCommit},
          {"binary_hash", binary_hash()},
          {"machine", {{"cpu", machine.cpu}, {"cores", machine.cores}, {"memory_bytes", machine.memory_bytes}}},
          {"devices", devices},
          {"left_out", left_out},
          {"gpu_libraries", gpu_libraries},
          {"libraries", library_versions()}};
}

void print(const nlohmann::ordered_json& info) {
  const auto text = [](const nlohmann::ordered_json& value) { return value.get<std::string>(); };
  fmt::print("octet {} ({}), binary {}\n", text(info["version"]), text(info["commit"]), text(info["binary_hash"]));
  fmt::print("machine   {}, {} cores, {}\n", text(info["machine"]["cpu"]), info["machine"]["cores"].get<int>(),
             bytes_text(info["machine"]["memory_bytes"].get<double>()));
  for (const auto& device : info["devices"]) {
    fmt::print("device    {}: {}\n", text(device["name"]), text(device["description"]));
    fmt::print("          {}\n", text(device["verification"]));
    fmt::print("          FP8 formats: {}; \"auto\" is {}{}\n",
               fmt::join(device["fp8_formats"].get<std::vector<std::string>>(), ", "), text(device["fp8_format_auto"]),
               device.contains("fp8_format_reason") ? ": " + text(device["fp8_format_reason"]) : "");
    if (device.contains("warp_size")) {
      fmt::print("          warps of {} lanes, {} of shared memory (LDS) for a block\n", device["warp_size"].get<int>(),
                 bytes_text(device["shared_memory_bytes"].get<double>()));
    }
    fmt::print("          matrix products in {}: {}\n", text(device["matrix_products"]),
               text(device["matrix_products_reason"]));
  }
  for (const auto& backend : info["left_out"]) {
    fmt::print("left out  {}: {}\n", text(backend["backend"]), text(backend["reason"]));
  }
  for (const auto& library : info["gpu_libraries"]) {
    if (library.contains("problem")) {
      fmt::print("missing   {}: {}\n", text(library["name"]), text(library["problem"]));
    } else {
      fmt::print("library   {}: {}, {}{}\n", text(library["name"]), text(library["version"]), text(library["path"]),
                 library.contains("note") ? ", " + text(library["note"]) : "");
    }
  }
  for (const auto& [name, version] : info["libraries"].items()) fmt::print("library   {}: {}\n", name, text(version));
}

}  // namespace

void add_info(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("info", "Show this binary, the devices it finds and what was left out");
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json] {
    const auto info = gather();
    if (*json) {
      fmt::print("{}\n", info.dump(2));
    } else {
      print(info);
    }
  });
}

}  // namespace octet::cli
