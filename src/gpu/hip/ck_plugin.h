// The plugin that computes grouped products by Composable Kernel, found when the program runs: see plugins/ck. Its
// kernels were not compiled against Composable Kernel yet, nor run on hardware.
#pragma once

#include <memory>

#include "gpu/driver.h"
#include "gpu/grouped_products.h"
#include "gpu/vendor_library.h"

namespace octet::gpu {

/// Opens the file that OCTET_CK_PLUGIN names, or liboctet_ck.so beside the program. `driver` is a HIP one and outlives
/// what is returned. UserError, one line, where there is no file, where it is no such plugin, and where it was built
/// for another version of the interface.
[[nodiscard]] std::unique_ptr<GroupedProducts> open_ck_plugin(Driver& driver);

/// What open_ck_plugin would find.
[[nodiscard]] VendorLibrary survey_ck_plugin();

}  // namespace octet::gpu
