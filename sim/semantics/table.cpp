#include "sim/semantics/table.h"

#include <map>
#include <utility>

#include "core/error.h"

namespace octet::sim {
namespace {

using Key = std::pair<std::string_view, Generation>;

std::map<Key, Found> all_rows() {
  const std::pair<Family, Table> tables[] = {{Family::control, control_table()},
                                             {Family::scalar, scalar_table()},
                                             {Family::scalar, scalar_bits_table()},
                                             {Family::scalar, register_indexing_table()},
                                             {Family::scalar, special_register_table()},
                                             {Family::scalar_memory, scalar_memory_table()},
                                             {Family::vector, vector_integer_table()},
                                             {Family::vector, vector_short_table()},
                                             {Family::vector, vector_bytes_table()},
                                             {Family::vector, vector_wide_table()},
                                             {Family::vector, vector_float_table()},
                                             {Family::vector, vector_double_table()},
                                             {Family::vector, vector_half_table()},
                                             {Family::vector, vector_compare_table()},
                                             {Family::vector, vector_division_table()},
                                             {Family::vector, vector_conversion_table()},
                                             {Family::vector, vector_scaled_conversion_table()},
                                             {Family::vector, vector_packed_table()},
                                             {Family::vector, vector_packed_half_table()},
                                             {Family::vector, vector_packed_integer_table()},
                                             {Family::vector, vector_dot_table()},
                                             {Family::vector, cross_lane_table()},
                                             {Family::matrix, matrix_dense_table()},
                                             {Family::matrix, matrix_double_table()},
                                             {Family::matrix, matrix_scaled_table()},
                                             {Family::matrix, matrix_sparse_table()},
                                             {Family::lds, lds_table()},
                                             {Family::lds, lds_atomic_table()},
                                             {Family::lds, lds_transpose_table()},
                                             {Family::global, global_table()},
                                             {Family::global, lds_loads_table()},
                                             {Family::atomic, atomic_table()},
                                             {Family::scratch, scratch_table()}};
  std::map<Key, Found> rows;
  for (const auto& [family, table] : tables) {
    for (const Row& row : table) {
      for (const Generation generation : {Generation::cdna3, Generation::cdna4}) {
        if (row.only && *row.only != generation) continue;
        const bool is_new = rows.emplace(Key(row.mnemonic, generation), Found{&row, family}).second;
        check(is_new, "a mnemonic has one row");
      }
    }
  }
  return rows;
}

}  // namespace

std::optional<Found> find_row(std::string_view mnemonic, Generation generation) {
  static const std::map<Key, Found> rows = all_rows();
  const auto found = rows.find({mnemonic, generation});
  if (found == rows.end()) return std::nullopt;
  return found->second;
}

}  // namespace octet::sim
