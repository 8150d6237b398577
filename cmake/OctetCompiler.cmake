# Compiler settings shared by every target: C++20, warnings as errors, hardening, exact floating point.
option(OCTET_TESTS "Build the tests" ON)
option(OCTET_PROGRAM "Build the octet program, and the training that only it needs" ON)
option(OCTET_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# The kernels ask for -O3 themselves; elsewhere it only lengthens the build.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(OCTET_CCACHE ccache)
if(OCTET_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${OCTET_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
# The same bits on every instruction set: a fused multiply-add is written where it is meant, never contracted.
add_compile_options(-ffp-contract=off -fvisibility=hidden -fstack-protector-strong)
add_link_options(-Wl,-z,relro,-z,now)
if(OCTET_SANITIZE)
  # AddressSanitizer stops at what UBSan's checks of null and of an object's size would find, and the virtual pointer's
  # check costs more than the rest. Without them, and with calls instead of inlined checks, the build takes half as long.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,object-size,vptr -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<NOT:$<BOOL:$<TARGET_PROPERTY:OCTET_HOT>>>:--param=asan-instrumentation-with-call-threshold=0>)
  endif()
  add_link_options(-fsanitize=address,undefined)
elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
include(CheckPIESupported)
check_pie_supported()
