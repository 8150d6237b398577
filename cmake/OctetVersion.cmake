# Writes core/version.h with the commit that is built; run at every build, touches the file only when it changes.
# Arguments: -DOUT=<header> -DVERSION=<x.y.z> -DSOURCE=<repository>
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT [[
// Generated at build time.
#pragma once

namespace octet {

inline constexpr const char* kVersion = "@VERSION@";
inline constexpr const char* kCommit = "@commit@";

}  // namespace octet
]] @ONLY)
