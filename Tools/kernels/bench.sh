#!/bin/sh
# Builds the kernels as a release build does and times them; needs OpenBLAS (libopenblas-dev) beside it.
#   Tools/kernels/bench.sh {avx512|avx2|portable} THREADS {limits|quick|gemm|gemv|attention|rows}...
# or, for one shape and a format's number, with weights from memory or from the caches:
#   Tools/kernels/bench.sh SET THREADS [fixed] {one|hot} ROWS OUTPUTS DEPTH FORMAT
# `fixed` is for quantised weights: activations in 16-bit fixed point, as the processor unit has them.
set -e
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${TMPDIR:-/tmp}/troika-kernel-bench
mkdir -p "$build"
swift=$(command -v swift)
compiler=$(dirname "$(readlink -f "$swift")")/clang
for file in "$root"/Sources/CKernels/*.c "$root"/Tools/kernels/bench.c; do
  "$compiler" -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -I"$root/Sources/CKernels/include" \
    $(pkg-config --cflags openblas) ${CFLAGS:-} -c "$file" -o "$build/$(basename "$file" .c).o"
done
"$compiler" "$build"/*.o -o "$build/bench" $(pkg-config --libs openblas) -lpthread -lm
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
# OpenBLAS has to make do with the same instruction set.
[ "$1" != avx2 ] || export OPENBLAS_CORETYPE=Zen
exec "$build/bench" "$@"
