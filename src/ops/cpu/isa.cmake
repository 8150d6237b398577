# The row kernels, compiled once per instruction set from the same sources, and the choice among them.
set(octet_isa_sources adamw attention cast_statistics casts feed_forward grouped_casts head_norm loss matrix norms routed_rows
    routing table transposed_casts whole_tensor unfused_cast)
list(TRANSFORM octet_isa_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/isa/)
list(TRANSFORM octet_isa_sources APPEND .cpp)

function(octet_isa_level level)
  add_library(octet_ops_${level} OBJECT ${octet_isa_sources})
  target_compile_definitions(octet_ops_${level} PRIVATE OCTET_ISA=${level})
  # Vectors never cross a call, so that the warning about their calling convention means nothing here; square roots need
  # no errno.
  target_compile_options(octet_ops_${level} PRIVATE ${ARGN} $<$<CONFIG:Release>:-O3> -Wno-psabi -fno-math-errno)
  target_link_libraries(octet_ops_${level} PRIVATE octet_core octet_fp8)
  set(octet_isa_objects ${octet_isa_objects} $<TARGET_OBJECTS:octet_ops_${level}> PARENT_SCOPE)
endfunction()

octet_isa_level(baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # The levels have the same sources. Sanitizers look at the first, and at memory in the last; the level between would
  # cost the sanitized build most of a minute, and its op table leaves it out.
  octet_isa_level(avx2 -march=x86-64-v3 $<$<BOOL:${OCTET_SANITIZE}>:-fno-sanitize=all>)
  octet_isa_level(avx512 -march=x86-64-v4 $<$<BOOL:${OCTET_SANITIZE}>:-fno-sanitize=undefined>)
  set_target_properties(octet_ops_avx512 PROPERTIES OCTET_HOT ON)  # sanitized tests, too, spend their time here
endif()
target_sources(octet_ops PRIVATE cpu/row_kernels.cpp cpu/row_scale.cpp ${octet_isa_objects})
set_property(GLOBAL PROPERTY OCTET_ISA_OBJECTS ${octet_isa_objects})
