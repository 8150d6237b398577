// Exported functions: copies and fills. Those without a stream are work of the device's default one.
#include "sim/hip/api.h"
#include "sim/hip/errors.h"
#include "sim/hip/process.h"
#include "sim/hip/runtime.h"

using namespace octet::sim::hip;

namespace {

/// On the default stream, and waited for.
void submit_now(Runtime& runtime, const Work& work) {
  const ihipStream_t& stream = runtime.stream(nullptr);
  forbid_default_stream(runtime, stream.device);
  forbid_during_capture(runtime);
  execute(runtime, work);
}

CopyWork one_row(void* to, const void* from, std::size_t size, hipMemcpyKind kind) {
  return {to, size, from, size, size, 1, kind};
}

hipError_t copy(void* to, const void* from, std::size_t size, hipMemcpyKind kind) {
  return answer([&](Runtime& runtime) {
    if (size != 0) submit_now(runtime, one_row(to, from, size, kind));
  });
}

hipError_t copy_on(hipStream_t stream, void* to, const void* from, std::size_t size, hipMemcpyKind kind) {
  return answer([&](Runtime& runtime) {
    ihipStream_t& on = runtime.stream(stream);
    if (size != 0) submit(runtime, on, one_row(to, from, size, kind));
  });
}

FillWork one_row(void* to, std::uint32_t value, std::size_t element_bytes, std::size_t count) {
  return {to, count * element_bytes, value, element_bytes, count, 1};
}

hipError_t fill(void* to, std::uint32_t value, std::size_t element_bytes, std::size_t count) {
  return answer([&](Runtime& runtime) {
    if (count != 0) submit_now(runtime, one_row(to, value, element_bytes, count));
  });
}

hipError_t fill_on(hipStream_t stream, void* to, std::uint32_t value, std::size_t element_bytes, std::size_t count) {
  return answer([&](Runtime& runtime) {
    ihipStream_t& on = runtime.stream(stream);
    if (count != 0) submit(runtime, on, one_row(to, value, element_bytes, count));
  });
}

std::uint32_t lowest_byte(int value) {
  return static_cast<unsigned char>(value);
}

}  // namespace

hipError_t hipMemcpy(void* to, const void* from, std::size_t size, hipMemcpyKind kind) {
  return copy(to, from, size, kind);
}

hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t size, hipMemcpyKind kind, hipStream_t stream) {
  return copy_on(stream, to, from, size, kind);
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void* from, std::size_t size) {
  return copy(to, from, size, hipMemcpyHostToDevice);
}

hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, std::size_t size) {
  return copy(to, from, size, hipMemcpyDeviceToHost);
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t size) {
  return copy(to, from, size, hipMemcpyDeviceToDevice);
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void* from, std::size_t size, hipStream_t stream) {
  return copy_on(stream, to, from, size, hipMemcpyHostToDevice);
}

hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, std::size_t size, hipStream_t stream) {
  return copy_on(stream, to, from, size, hipMemcpyDeviceToHost);
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t size, hipStream_t stream) {
  return copy_on(stream, to, from, size, hipMemcpyDeviceToDevice);
}

hipError_t hipMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                       std::size_t height, hipMemcpyKind kind) {
  return answer([&](Runtime& runtime) {
    if (width != 0 && height != 0) {
      submit_now(runtime, CopyWork{to, to_pitch, from, from_pitch, width, height, kind});
    }
  });
}

hipError_t hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                            std::size_t height, hipMemcpyKind kind, hipStream_t stream) {
  return answer([&](Runtime& runtime) {
    ihipStream_t& on = runtime.stream(stream);
    if (width != 0 && height != 0) {
      submit(runtime, on, CopyWork{to, to_pitch, from, from_pitch, width, height, kind});
    }
  });
}

hipError_t hipMemset(void* to, int value, std::size_t size) {
  return fill(to, lowest_byte(value), 1, size);
}

hipError_t hipMemsetAsync(void* to, int value, std::size_t size, hipStream_t stream) {
  return fill_on(stream, to, lowest_byte(value), 1, size);
}

hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, std::size_t count) {
  return fill(to, value, 1, count);
}

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, std::size_t count, hipStream_t stream) {
  return fill_on(stream, to, value, 1, count);
}

hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, std::size_t count) {
  return fill(to, value, 2, count);
}

hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, std::size_t count, hipStream_t stream) {
  return fill_on(stream, to, value, 2, count);
}

hipError_t hipMemsetD32(hipDeviceptr_t to, int value, std::size_t count) {
  return fill(to, static_cast<std::uint32_t>(value), 4, count);
}

hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, std::size_t count, hipStream_t stream) {
  return fill_on(stream, to, static_cast<std::uint32_t>(value), 4, count);
}
