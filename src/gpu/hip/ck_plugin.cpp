#include "gpu/hip/ck_plugin.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/error.h"
#include "gpu/dynamic_library.h"
#include "octet_ck.h"

namespace octet::gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRemedy = "build it as plugins/ck/CMakeLists.txt says, and name the file in OCTET_CK_PLUGIN";

/// The plugin's entries.
struct Entries {
  DynamicLibrary library;
  decltype(&octet_ck_abi_version) abi_version = nullptr;
  decltype(&octet_ck_description) description = nullptr;
  decltype(&octet_ck_workspace_bytes) workspace_bytes = nullptr;
  decltype(&octet_ck_multiply_rows) multiply_rows = nullptr;
  decltype(&octet_ck_multiply_columns) multiply_columns = nullptr;
  decltype(&octet_ck_error) error = nullptr;

  /// Of another version nothing but the version itself is looked at.
  explicit Entries(DynamicLibrary found) : library(std::move(found)) {
    library.bind("octet_ck_abi_version", abi_version);
    const std::int32_t version = abi_version();
    if (version != OCTET_CK_ABI_VERSION) {
      throw UserError("{} speaks version {} of the plugin's interface, and this octet version {}: {}", library.path(),
                      version, OCTET_CK_ABI_VERSION, kRemedy);
    }
    library.bind("octet_ck_description", description);
    library.bind("octet_ck_workspace_bytes", workspace_bytes);
    library.bind("octet_ck_multiply_rows", multiply_rows);
    library.bind("octet_ck_multiply_columns", multiply_columns);
    library.bind("octet_ck_error", error);
  }
};

std::string plugin_path() {
  const char* named = std::getenv("OCTET_CK_PLUGIN");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (named != nullptr && *named != '\0') return fs::absolute(named).string();
  return (fs::read_symlink("/proc/self/exe").parent_path() / "liboctet_ck.so").string();
}

Entries load_plugin() {
  const std::string path = plugin_path();
  const std::array<std::string_view, 1> names{path};
  auto search = DynamicLibrary::find(names);
  if (!search.library) throw UserError("{}: {}", search.problem, kRemedy);
  return Entries(std::move(*search.library));
}

std::int32_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return OCTET_CK_F32;
    case DType::bf16:
      return OCTET_CK_BF16;
    case DType::e4m3fn:
      return OCTET_CK_E4M3FN;
    case DType::e5m2:
      return OCTET_CK_E5M2;
    case DType::e4m3fnuz:
      return OCTET_CK_E4M3FNUZ;
    case DType::e5m2fnuz:
      return OCTET_CK_E5M2FNUZ;
    default:
      throw Failure("the Composable Kernel plugin has no products of {}", name(dtype));
  }
}

/// Of groups, codes have a scale for each row.
std::int32_t scale_of(const GroupedProduct& p) {
  return p.a.dtype == DType::bf16 ? OCTET_CK_SCALE_NONE : OCTET_CK_SCALE_ROW;
}

octet_ck_rows_grouped rows_of(const GroupedProduct& p) {
  return {.a = p.a.data,
          .b = p.b.data,
          .a_scale_inverse = p.a.scale_inverse,
          .b_scale_inverse = p.b.scale_inverse,
          .d = p.d,
          .offsets = p.offsets,
          .rows = p.rows,
          .n = p.n,
          .k = p.k,
          .groups = static_cast<std::int32_t>(p.groups),
          .a_type = type_of(p.a.dtype),
          .b_type = type_of(p.b.dtype),
          .d_type = type_of(p.d_dtype),
          .scale = scale_of(p),
          .b_transposed = p.b.transposed ? 1 : 0};
}

octet_ck_columns_grouped columns_of(const GroupedProduct& p) {
  return {.a = p.a.data,
          .b = p.b.data,
          .a_scale_inverse = p.a.scale_inverse,
          .b_scale_inverse = p.b.scale_inverse,
          .d = p.d,
          .offsets = p.offsets,
          .columns = p.rows,
          .n = p.m,
          .k = p.n,
          .groups = static_cast<std::int32_t>(p.groups),
          .a_type = type_of(p.a.dtype),
          .b_type = type_of(p.b.dtype),
          .d_type = type_of(p.d_dtype),
          .scale = scale_of(p),
          .transposed = p.a.transposed ? 1 : 0};
}

class CkPlugin final : public GroupedProducts {
 public:
  CkPlugin(Driver& driver, Entries entries) : driver_(driver), entries_(std::move(entries)) {}

  [[nodiscard]] std::size_t workspace_bytes(std::int64_t groups) const override {
    return entries_.workspace_bytes(static_cast<std::int32_t>(groups));
  }
  void run(const GroupedProduct& p, void* workspace) override {
    if (p.accumulate) throw Failure("{} adds to no result: OCTET_GROUPED_PRODUCTS=own does", entries_.library.path());
    if (p.by_contraction) {
      const octet_ck_columns_grouped columns = columns_of(p);
      check_result(entries_.multiply_columns(&columns, workspace, driver_.native_stream()), p);
    } else {
      const octet_ck_rows_grouped rows = rows_of(p);
      check_result(entries_.multiply_rows(&rows, workspace, driver_.native_stream()), p);
    }
  }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{}, {}, {}", entries_.description(), entries_.library.path(), kNotRunOnHardware);
  }

 private:
  void check_result(int result, const GroupedProduct& p) const {
    if (result == OCTET_CK_DONE) return;
    throw Failure("{} {} a product of {} groups, {} {}, n {}: {}", entries_.library.path(),
                  result == OCTET_CK_REFUSED ? "refuses" : "failed at", p.groups, p.by_contraction ? "m" : "k",
                  p.by_contraction ? p.m : p.k, p.n, entries_.error());
  }

  Driver& driver_;
  Entries entries_;
};

}  // namespace

std::unique_ptr<GroupedProducts> open_ck_plugin(Driver& driver) {
  return std::make_unique<CkPlugin>(driver, load_plugin());
}

VendorLibrary survey_ck_plugin() {
  VendorLibrary survey{"Composable Kernel plugin", {}, {}, {}, kNotRunOnHardware};
  try {
    const Entries entries = load_plugin();
    survey.version = fmt::format("interface {}, {}", entries.abi_version(), entries.description());
    survey.path = entries.library.path();
  } catch (const UserError& error) {
    survey.problem = error.what();
  }
  return survey;
}

}  // namespace octet::gpu
