// A stand-in for NVIDIA's cuDNN, which has nothing of what it is asked for. The environment decides how it says so:
//
//   OCTET_STANDIN_CUDNN_STATUS=4000   what every description that it is asked to begin returns (default 3000, "not
//                                     supported")
#include <cudnn.h>

#include <cstring>

#include "gpu/standin_environment.h"

extern "C" {

std::size_t cudnnGetVersion() {
  return 91900;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_INTERNAL_ERROR";
}
void cudnnGetLastErrorString(char* message, std::size_t bytes) {
  std::strncpy(message, "as the test\nwants it", bytes);
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  static char thing;
  *handle = reinterpret_cast<cudnnHandle_t>(&thing);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t*) {
  return static_cast<cudnnStatus_t>(octet::test::setting("OCTET_STANDIN_CUDNN_STATUS", CUDNN_STATUS_NOT_SUPPORTED));
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
