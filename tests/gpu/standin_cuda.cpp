// A stand-in for NVIDIA's driver: GPUs whose memory is the host's and whose kernels do nothing. The functions are those
// that src/gpu/cuda/cuda_api.h binds. The environment decides what goes wrong:
//
//   OCTET_STANDIN_DRIVER=12040      the version of CUDA that it says it is of (default 13000)
//   OCTET_STANDIN_INIT=100          what cuInit returns
//   OCTET_STANDIN_GPUS=2            how many there are (default 1)
//   OCTET_STANDIN_ARCH=80           their compute capability (default 90)
//   OCTET_STANDIN_MEMORY_MIB=8192   memory that is free on each (default 81920, which is also what it has)
//   OCTET_STANDIN_CONTEXT=2         what making a context returns
//   OCTET_STANDIN_KERNEL=adamw      launches of kernels whose names begin so are counted (default: all)
//   OCTET_STANDIN_FAIL_LAUNCH=3     the third of them fails, and with it every later call, as on a GPU
//   OCTET_STANDIN_FAIL_UPLOAD=3     the same of copies from the host
//   OCTET_STANDIN_FAIL_REPLAY=3     the same of graphs that are started, found at the next wait
//   OCTET_STANDIN_ERROR=700         with this error (default 719)
//   OCTET_STANDIN_LATE=1            not at the launch but at the next wait
//   OCTET_STANDIN_ELAPSED_MS=0      from any event to any other (default 1)
#include <cuda.h>
#include <elf.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "gpu/standin_environment.h"

namespace {

using octet::test::setting;
using octet::test::text_setting;

struct Function {
  std::string name;
};

/// The kernels of an image: each has a section of its own, .text.<name>.
struct Module {
  std::vector<Function> functions;

  explicit Module(const char* image) {
    const auto* elf = reinterpret_cast<const Elf64_Ehdr*>(image);
    const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image + elf->e_shoff);
    const char* names = image + sections[elf->e_shstrndx].sh_offset;
    constexpr std::string_view kPrefix = ".text.";
    for (int i = 0; i < elf->e_shnum; ++i) {
      const std::string_view name = names + sections[i].sh_name;
      if (name.starts_with(kPrefix)) functions.push_back({std::string(name.substr(kPrefix.size()))});
    }
  }
};

/// All GPUs are this one.
class Gpu {
 public:
  CUresult launch(const Function& function) {
    if (fault_ != CUDA_SUCCESS && !hidden_) return fault_;
    if (!function.name.starts_with(counted_) || ++launches_ != failing_) return CUDA_SUCCESS;
    fault_ = error_;
    hidden_ = late_;
    return hidden_ ? CUDA_SUCCESS : fault_;
  }
  CUresult upload() {
    if (++uploads_ == failing_upload_) fault_ = error_;
    return go_on();
  }
  CUresult replay() {
    if (++replays_ == failing_replay_) {
      fault_ = error_;
      hidden_ = true;
    }
    return go_on();
  }
  /// Of a call that only puts work on the stream.
  [[nodiscard]] CUresult go_on() const { return hidden_ ? CUDA_SUCCESS : fault_; }
  CUresult wait() {
    hidden_ = false;
    return fault_;
  }

  CUresult allocate(CUdeviceptr* pointer, std::size_t bytes) {
    if (bytes > free_) return CUDA_ERROR_OUT_OF_MEMORY;
    void* memory = std::calloc(bytes, 1);
    free_ -= bytes;
    sizes_[memory] = bytes;
    *pointer = reinterpret_cast<CUdeviceptr>(memory);
    return go_on();
  }
  CUresult release(CUdeviceptr pointer) {
    auto* memory = reinterpret_cast<void*>(pointer);
    free_ += sizes_[memory];
    std::free(memory);
    return go_on();
  }
  [[nodiscard]] std::size_t free_bytes() const { return free_; }

  Module* load(const void* image) { return &modules_.emplace_back(static_cast<const char*>(image)); }

 private:
  const std::string counted_ = text_setting("OCTET_STANDIN_KERNEL");
  const long failing_ = setting("OCTET_STANDIN_FAIL_LAUNCH", 0);
  const long failing_upload_ = setting("OCTET_STANDIN_FAIL_UPLOAD", 0);
  const long failing_replay_ = setting("OCTET_STANDIN_FAIL_REPLAY", 0);
  const CUresult error_ = static_cast<CUresult>(setting("OCTET_STANDIN_ERROR", CUDA_ERROR_LAUNCH_FAILED));
  const bool late_ = setting("OCTET_STANDIN_LATE", 0) != 0;
  long launches_ = 0;
  long uploads_ = 0;
  long replays_ = 0;
  CUresult fault_ = CUDA_SUCCESS;
  bool hidden_ = false;  // nobody has waited since
  std::size_t free_ = static_cast<std::size_t>(setting("OCTET_STANDIN_MEMORY_MIB", 81920)) << 20U;
  std::map<void*, std::size_t> sizes_;
  std::deque<Module> modules_;
};

Gpu& gpu() {
  static Gpu gpu;
  return gpu;
}

/// What a handle points to where nobody looks.
template <typename Handle>
Handle some() {
  static char thing;
  return reinterpret_cast<Handle>(&thing);
}

void* memory_at(CUdeviceptr pointer) {
  return reinterpret_cast<void*>(pointer);
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  return static_cast<CUresult>(setting("OCTET_STANDIN_INIT", CUDA_SUCCESS));
}
CUresult cuDriverGetVersion(int* version) {
  *version = static_cast<int>(setting("OCTET_STANDIN_DRIVER", 13000));
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** name) {
  static const std::map<CUresult, const char*> names = {{CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                        {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY"},
                                                        {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE"},
                                                        {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                        {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
                                                        {CUDA_ERROR_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY"}};
  const auto found = names.find(error);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "as the test wants it";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  *count = static_cast<int>(setting("OCTET_STANDIN_GPUS", 1));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int index) {
  *device = index;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, "NVIDIA Stand-in", static_cast<std::size_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  const int arch = static_cast<int>(setting("OCTET_STANDIN_ARCH", 90));
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = arch / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = arch % 10;
      break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 4;
      break;
    default:
      *value = 1 << 17;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{80} << 30U;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = some<CUcontext>();
  return static_cast<CUresult>(setting("OCTET_STANDIN_CONTEXT", CUDA_SUCCESS));
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) {
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = gpu().free_bytes();
  *total = std::size_t{80} << 30U;
  return gpu().go_on();
}
CUresult cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
  return gpu().allocate(pointer, bytes);
}
CUresult cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned) {
  return gpu().allocate(pointer, bytes);
}
CUresult cuMemFree(CUdeviceptr pointer) {
  return gpu().release(pointer);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  std::memcpy(memory_at(to), from, bytes);
  return gpu().upload();
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  std::memcpy(to, memory_at(from), bytes);
  return gpu().go_on();
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  std::memmove(memory_at(to), memory_at(from), bytes);
  return gpu().go_on();
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream) {
  std::memset(memory_at(to), value, bytes);
  return gpu().go_on();
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  *module = reinterpret_cast<CUmodule>(gpu().load(image));
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule) {
  return gpu().go_on();
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  *count = static_cast<unsigned>(reinterpret_cast<Module*>(module)->functions.size());
  return CUDA_SUCCESS;
}
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  std::vector<Function>& all = reinterpret_cast<Module*>(module)->functions;
  for (unsigned i = 0; i < count; ++i) functions[i] = reinterpret_cast<CUfunction>(&all[i]);
  return CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction function) {
  *name = reinterpret_cast<Function*>(function)->name.c_str();
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return gpu().go_on();
}
CUresult cuTensorMapEncodeTiled(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_SUCCESS;  // which no kernel reads
}
CUresult cuLaunchKernelEx(const CUlaunchConfig*, CUfunction function, void**, void**) {
  return gpu().launch(*reinterpret_cast<Function*>(function));
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = some<CUstream>();
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream) {
  return gpu().go_on();
}
CUresult cuStreamSynchronize(CUstream) {
  return gpu().wait();
}
CUresult cuStreamBeginCapture(CUstream, CUstreamCaptureMode) {
  return gpu().go_on();
}
CUresult cuStreamEndCapture(CUstream, CUgraph* graph) {
  *graph = some<CUgraph>();
  return gpu().go_on();
}
CUresult cuGraphGetNodes(CUgraph, CUgraphNode*, size_t* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec, CUstream) {
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph, unsigned long long) {
  *exec = some<CUgraphExec>();
  return gpu().go_on();
}
CUresult cuGraphLaunch(CUgraphExec, CUstream) {
  return gpu().replay();
}
CUresult cuGraphExecDestroy(CUgraphExec) {
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph) {
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = some<CUevent>();
  return gpu().go_on();
}
CUresult cuEventRecord(CUevent, CUstream) {
  return gpu().go_on();
}
CUresult cuEventSynchronize(CUevent) {
  return gpu().wait();
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent) {
  *milliseconds = static_cast<float>(setting("OCTET_STANDIN_ELAPSED_MS", 1));
  return gpu().go_on();
}
CUresult cuEventDestroy(CUevent) {
  return CUDA_SUCCESS;
}

}  // extern "C"
