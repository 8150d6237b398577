/* The C interface between Octet and the plugin that computes grouped products by Composable Kernel. Octet looks for the
 * plugin when it runs (src/gpu/hip/ck_plugin.h); the plugin is built where ROCm is, by this directory's CMakeLists.txt.
 *
 * Plain C, so that compilers and standard libraries of both sides need not agree. Whatever changes here, a member, a
 * number or a meaning, raises OCTET_CK_ABI_VERSION, and Octet takes no plugin of another version.
 */
#ifndef OCTET_CK_H
#define OCTET_CK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OCTET_CK_ABI_VERSION 1

/* Types of elements. */
enum {
  OCTET_CK_F32 = 0,
  OCTET_CK_BF16 = 1,
  OCTET_CK_E4M3FN = 2,
  OCTET_CK_E5M2 = 3,
  OCTET_CK_E4M3FNUZ = 4,
  OCTET_CK_E5M2FNUZ = 5
};

/* What shares a scale: inverse scales are f32, and a code stands for its value times them. */
enum {
  OCTET_CK_SCALE_NONE = 0,   /* bf16 */
  OCTET_CK_SCALE_TENSOR = 1, /* one for an operand */
  OCTET_CK_SCALE_ROW = 2     /* one for each index that is not contracted */
};

/* What an entry returns. */
enum {
  OCTET_CK_DONE = 0,    /* the work is on the stream */
  OCTET_CK_REFUSED = 1, /* the plugin has no kernel for that; nothing was put on the stream */
  OCTET_CK_FAILED = 2   /* the runtime failed */
};

/* D[r, n] = A[r, k] B[g][n, k]^T for the rows r of each group g, offsets[g] <= r < offsets[g + 1]: forward, and dgrad,
 * where B is weights the other way round. */
struct octet_ck_rows_grouped {
  const void* a;                /* [rows, k] */
  const void* b;                /* [groups, n, k]; with b_transposed [groups, k, n], which bf16 alone may be */
  const float* a_scale_inverse; /* [rows] or [1]; null without scales */
  const float* b_scale_inverse; /* [groups, n] or [1]; null without scales */
  void* d;                      /* [rows, n], overwritten where a row lies in a group */
  const int32_t* offsets;       /* [groups + 1], on the device */
  int64_t rows, n, k;
  int32_t groups;
  int32_t a_type, b_type, d_type; /* D is bf16 */
  int32_t scale;
  int32_t b_transposed;
};

/* D[g][n, k] = A[n, c] B[k, c]^T over the columns c of each group g, offsets[g] <= c < offsets[g + 1]; zero for a group
 * without columns: wgrad. */
struct octet_ck_columns_grouped {
  const void* a;                /* [n, columns]; with transposed [columns, n], which bf16 alone may be */
  const void* b;                /* [k, columns]; with transposed [columns, k] */
  const float* a_scale_inverse; /* [groups, n] or [1]; null without scales */
  const float* b_scale_inverse; /* [groups, k] or [1]; null without scales */
  void* d;                      /* [groups, n, k], overwritten */
  const int32_t* offsets;       /* [groups + 1], on the device; of FP8 multiples of 16 */
  int64_t columns, n, k;
  int32_t groups;
  int32_t a_type, b_type, d_type; /* D is f32 or bf16 */
  int32_t scale;
  int32_t transposed;
};

/* OCTET_CK_ABI_VERSION as the plugin was compiled; the first function that is called, and the only one where it differs
 * from Octet's. */
int32_t octet_ck_abi_version(void);

/* One line that says what the plugin was made of; lives as long as the plugin. */
const char* octet_ck_description(void);

/* Scratch bytes of device memory, at a multiple of 256, that any entry uses for so many groups. */
size_t octet_ck_workspace_bytes(int32_t groups);

/* Each puts its work on `stream`, a hipStream_t, and may be captured; none waits, and none reads device memory from the
 * host. */
int octet_ck_multiply_rows(const struct octet_ck_rows_grouped* product, void* workspace, void* stream);
int octet_ck_multiply_columns(const struct octet_ck_columns_grouped* product, void* workspace, void* stream);

/* One line on why the last entry that this thread called was not done; lives until the next. */
const char* octet_ck_error(void);

#ifdef __cplusplus
}
#endif

#endif
