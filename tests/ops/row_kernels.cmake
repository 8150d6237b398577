# The memory-bound CPU kernels: casts byte by byte, AdamW bit by bit, equality across instruction sets, accuracy.
octet_test(NAME row_kernels_cast SOURCES row_kernels_cast_test.cpp USES octet_ops RELEASE_ONLY)
octet_test(NAME row_kernels_adamw SOURCES row_kernels_adamw_test.cpp USES octet_ops)
octet_test(NAME row_kernels_isa SOURCES row_kernels_isa_test.cpp USES octet_ops RELEASE_ONLY)
octet_test(NAME row_kernels_accuracy SOURCES row_kernels_accuracy_test.cpp USES octet_ops RELEASE_ONLY)
if(TARGET row_kernels_accuracy_test)
  target_compile_definitions(row_kernels_accuracy_test PRIVATE OCTET_ISA=baseline)
  target_compile_options(row_kernels_accuracy_test PRIVATE -Wno-psabi)
endif()

get_property(octet_isa_objects GLOBAL PROPERTY OCTET_ISA_OBJECTS)
add_test(NAME isa_objects_have_no_weak_functions
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/isa_objects_have_no_weak_functions.sh ${CMAKE_NM} ${octet_isa_objects}
         COMMAND_EXPAND_LISTS)
