# The oracle's own checks and the op table's.
octet_test(NAME op_shapes SOURCES op_shapes_test.cpp USES octet_ops RELEASE_ONLY)
octet_test(NAME executor SOURCES executor_test.cpp USES octet_ops)
octet_test(NAME rope_table SOURCES rope_table_test.cpp USES octet_ops RELEASE_ONLY)
octet_test(NAME gradient_ops SOURCES gradient_ops_test.cpp USES octet_reference RELEASE_ONLY)
octet_test(NAME gradient_llama SOURCES gradient_llama_test.cpp USES octet_reference RELEASE_ONLY)
octet_test(NAME op_table_cpu SOURCES op_table_cpu_test.cpp USES octet_selftest)
octet_test(NAME op_table_faults SOURCES op_table_faults_test.cpp USES octet_selftest RELEASE_ONLY)
octet_test(NAME op_table_thorough SOURCES op_table_thorough_test.cpp USES octet_selftest LABELS slow RELEASE_ONLY)
