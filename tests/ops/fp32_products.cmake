# The op table's test, and that of grouped ops, again with the matrix library held below this machine's best
# instructions: AVX2 multiplies fp32 operands, AVX512_CORE_BF16 multiplies bf16 without tiles. Version 2 of the library
# reads DNNL_, version 3 ONEDNN_.
if(OCTET_SANITIZE)
  return()
endif()
foreach(isa AVX2 AVX512_CORE_BF16)
  string(TOLOWER ${isa} level)
  add_test(NAME op_table_cpu_products_${level} COMMAND op_table_cpu_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  add_test(NAME grouped_ops_products_${level} COMMAND grouped_ops_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(op_table_cpu_products_${level} grouped_ops_products_${level}
                       PROPERTIES ENVIRONMENT "DNNL_MAX_CPU_ISA=${isa};ONEDNN_MAX_CPU_ISA=${isa}")
endforeach()
