# Is there LLVM's library, new enough to know gfx950, and libdw for the CDNA simulator? Sets OCTET_SIMULATOR_FOUND,
# OCTET_LLVM, OCTET_LIBDW, OCTET_LIBELF and OCTET_LIBDW_HEADERS; says aloud when the simulator is left out, and why, and
# when its tests have no compiler for kernels.
set(OCTET_SIMULATOR AUTO CACHE STRING "Build the CDNA simulator: AUTO (where LLVM >= 20 is found), ON, OFF")
set_property(CACHE OCTET_SIMULATOR PROPERTY STRINGS AUTO ON OFF)

set(OCTET_SIMULATOR_FOUND FALSE)
set(octet_no_simulator "OCTET_SIMULATOR is OFF")
if(NOT OCTET_SIMULATOR STREQUAL OFF)
  # Debian names the library after its version; LLVM's own packages have a directory for each.
  find_library(OCTET_LLVM NAMES LLVM-22 LLVM-21 LLVM-20
               PATHS /usr/lib/llvm-22/lib /usr/lib/llvm-21/lib /usr/lib/llvm-20/lib DOC "LLVM's library, 20 or newer")
  find_library(OCTET_LIBDW NAMES dw DOC "elfutils' libdw, which reads debug information")
  find_library(OCTET_LIBELF NAMES elf DOC "elfutils' libelf, which libdw needs")
  find_path(OCTET_LIBDW_HEADERS NAMES elfutils/libdw.h DOC "Where elfutils' headers are")
  if(NOT OCTET_LLVM)
    set(octet_no_simulator "no LLVM 20 or newer: scripts/packages simulator installs it, or set OCTET_LLVM")
  elseif(NOT OCTET_LIBDW OR NOT OCTET_LIBELF OR NOT OCTET_LIBDW_HEADERS)
    set(octet_no_simulator "no libdw with its headers: scripts/packages simulator installs it (libdw-dev)")
  else()
    set(OCTET_SIMULATOR_FOUND TRUE)
  endif()
endif()
if(OCTET_SIMULATOR_FOUND)
  message(STATUS "CDNA simulator: decodes through ${OCTET_LLVM}")
elseif(OCTET_SIMULATOR STREQUAL ON)
  message(FATAL_ERROR "The CDNA simulator was asked for: ${octet_no_simulator}")
else()
  message(STATUS "The CDNA simulator is left out: ${octet_no_simulator}")
endif()

if(OCTET_SIMULATOR_FOUND AND OCTET_TESTS AND NOT OCTET_HIP_FOUND)
  message(STATUS "The CDNA simulator's tests run no compiled kernels: ${octet_no_hip}")
endif()
