// What a module of HIP has beside kernels of pointers and numbers: a variable, arguments in one struct, LDS whose size
// the launch gives.
#include "device.h"

extern "C" {
__attribute__((device)) u32 addends[4] = {1, 20, 300, 4000};
}

/// values[i] += addends[i % 4].
KERNEL add_addends(u32* values, u32 count) {
  const u32 i = global_thread();
  if (i < count) values[i] += addends[i % 4];
}

struct Scaling {
  const float* in;
  float* out;
  u32 count;
  float factor;
};

/// out[i] = in[i] * factor for i < count.
KERNEL scale(Scaling arguments) {
  const u32 i = global_thread();
  if (i < arguments.count) arguments.out[i] = arguments.in[i] * arguments.factor;
}

/// Turns 256 values of each block round, through LDS.
KERNEL reverse(u32* values) {
  extern SHARED u32 staged[];
  const u32 at = block() * 256 + thread();
  staged[thread()] = values[at];
  barrier();
  values[at] = staged[255 - thread()];
}
