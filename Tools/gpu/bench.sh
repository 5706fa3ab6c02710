#!/bin/sh
# Times the shaders of software devices by themselves on the first Vulkan device, through the calls
# the GPU unit uses: Tools/gpu/bench.sh. Set VK_ICD_FILENAMES to choose a driver.
set -e
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${TMPDIR:-/tmp}/troika-gpu-bench
shaders="$root/Sources/Devices/GPU/Shaders"
mkdir -p "$build"
compile() { # output, source, defines
  glslangValidator -V --target-env vulkan1.2 -I"$shaders" ${3:+"$3"} "$shaders/$2.comp" \
    -o "$build/$1.spv" >/dev/null
}
compile half product_nt -DWEIGHT=0
compile transposed product_nt
compile plain product_nn
for shader in attention elementwise rows; do compile $shader $shader; done
compiler=${CC:-cc}
"$compiler" -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -I"$root/Sources/CGPU/include" \
  "$root"/Sources/CGPU/*.c "$root/Tools/gpu/bench.c" -o "$build/bench" -ldl
cd "$build"
exec ./bench
