// A libamdhip64 in front of the simulator's, which gives all but the functions below and fails in them as the
// environment says:
//
//   OCTET_STANDIN_KERNEL=adamw     launches of kernels whose names begin so are counted (default: all)
//   OCTET_STANDIN_FAIL_LAUNCH=3    the third of them fails
//   OCTET_STANDIN_ERROR=700        with this error (default 719, hipErrorLaunchFailure)
//   OCTET_STANDIN_LOAD=209         what loading a code object gives
//
// It is named after an older runtime, so that it and the simulator are two libraries to the loader.
#include <dlfcn.h>

#include <map>
#include <string>

#include "gpu/hip/hip_types.h"
#include "gpu/standin_environment.h"

namespace {

using octet::gpu::hip::Function;
using octet::gpu::hip::Module;
using octet::gpu::hip::Result;
using octet::gpu::hip::Stream;
using octet::test::setting;
using octet::test::text_setting;

/// The simulator's function of a name. It is loaded already, as this library needs it.
template <typename FunctionType>
FunctionType* simulated(const char* name) {
  static void* library = dlopen("libamdhip64.so.7", RTLD_LAZY | RTLD_NOLOAD);
  return reinterpret_cast<FunctionType*>(dlsym(library, name));
}

std::map<Function, std::string>& kernel_names() {
  static std::map<Function, std::string> names;
  return names;
}

bool launch_fails(Function function) {
  static const std::string counted = text_setting("OCTET_STANDIN_KERNEL");
  static const long failing = setting("OCTET_STANDIN_FAIL_LAUNCH", 0);
  static long launches = 0;
  return kernel_names()[function].starts_with(counted) && ++launches == failing;
}

}  // namespace

extern "C" {

Result hipModuleLoadData(Module* module, const void* image) {
  const auto planned = static_cast<Result>(setting("OCTET_STANDIN_LOAD", 0));
  if (planned != Result::success) return planned;
  return simulated<decltype(hipModuleLoadData)>("hipModuleLoadData")(module, image);
}

Result hipModuleGetFunction(Function* function, Module module, const char* name) {
  const Result result = simulated<decltype(hipModuleGetFunction)>("hipModuleGetFunction")(function, module, name);
  if (result == Result::success) kernel_names()[*function] = name;
  return result;
}

Result hipModuleLaunchKernel(Function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                             unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                             Stream stream, void** parameters, void** extra) {
  if (launch_fails(function)) return static_cast<Result>(setting("OCTET_STANDIN_ERROR", 719));
  return simulated<decltype(hipModuleLaunchKernel)>("hipModuleLaunchKernel")(
      function, blocks_x, blocks_y, blocks_z, threads_x, threads_y, threads_z, shared_bytes, stream, parameters, extra);
}

}  // extern "C"
