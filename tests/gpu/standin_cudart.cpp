// A stand-in for NVIDIA's CUDA runtime: what cudnn-frontend asks it about a GPU, which is of compute capability 9.0.
#include <cuda_runtime_api.h>

extern "C" {

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) {
  return "as the test wants it";
}

}  // extern "C"
