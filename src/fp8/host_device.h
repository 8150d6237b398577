// OCTET_HOST_DEVICE marks a function that device code may call as well: the one macro of this room, empty on the host.
#pragma once

#if defined(__CUDACC__)
#define OCTET_HOST_DEVICE __host__ __device__
#elif defined(__HIP__)  // clang's own names: HIP's headers, which know others, are not needed
#define OCTET_HOST_DEVICE __attribute__((host)) __attribute__((device))
#else
#define OCTET_HOST_DEVICE
#endif
