// OCTET_HOST_DEVICE marks a function that device code may call as well: the one macro of this room, empty on the host.
#pragma once

#if defined(__CUDACC__) || defined(__HIP__)
#define OCTET_HOST_DEVICE __host__ __device__
#else
#define OCTET_HOST_DEVICE
#endif
