// What the stand-in for the Composable Kernel plugin keeps of its last product.
#pragma once

#include "octet_ck.h"

namespace octet::test {

struct CkRecord {
  int rows_grouped = 0;     ///< products of groups of rows so far
  int columns_grouped = 0;  ///< and of columns
  octet_ck_rows_grouped rows{};
  octet_ck_columns_grouped columns{};
  void* workspace = nullptr;
  void* stream = nullptr;
};

/// standin_ck_record()
using CkRecordOf = const CkRecord* (*)();

}  // namespace octet::test
