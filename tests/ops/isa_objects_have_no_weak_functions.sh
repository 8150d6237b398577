#!/bin/sh
# An inline function that is emitted in the object of an instruction set is weak: the linker keeps one of its copies for
# the whole program, and may keep the one that an older machine cannot run.
# usage: isa_objects_have_no_weak_functions.sh NM OBJECT...
set -eu
nm=$1
shift
[ $# -gt 0 ] || { echo "no objects to look at"; exit 1; }
weak=$("$nm" --print-file-name --demangle "$@" | grep -E ' [WV] ' || true)
[ -z "$weak" ] || { echo "weak symbols in instruction-set objects:"; echo "$weak"; exit 1; }
