#!/bin/bash
# Lays NVIDIA's wheels out as nvidia/cuda images have them.
#
#   layout.sh WHEELS TREE CUDA ARCH FLAVOR     e.g.  layout.sh /wheels /tree 12.4 x86_64 runtime
#
# WHEELS is an `--target` folder; CUDA 11 and 12 wheels keep a folder each, CUDA 13 wheels share nvidia/cu13. The
# toolkit goes to TREE/usr/local/cuda-CUDA, cuDNN and NCCL to the distribution's library folder, as their Debian
# packages do. The unversioned names that a linker looks for are made here: no wheel ships them.
set -euo pipefail
wheels=$1 tree=$2 cuda=$3 arch=$4 flavor=$5
root=$tree/usr/local/cuda-$cuda
target=$root/targets/$arch-linux
system=$tree/usr/lib/$arch-linux-gnu
mkdir -p "$target/lib" "$root/bin" "$tree/etc/ld.so.conf.d"

move() { # move FROM INTO: everything in FROM, if it is there
    [ -d "$1" ] || return 0
    mkdir -p "$2"
    cp -a --link "$1/." "$2/"
}

for folder in "$wheels"/nvidia/*/; do
    name=$(basename "$folder")
    case $name in
    cudnn | nccl) lib=$system include=$tree/usr/include ;;
    *) lib=$target/lib include=$target/include ;;
    esac
    move "$folder/lib" "$lib"
    [ "$flavor" != devel ] || move "$folder/include" "$include"
    [ "$name" = cudnn ] || [ "$name" = nccl ] || [ "$flavor" != devel ] || { move "$folder/bin" "$root/bin"; move "$folder/nvvm" "$root/nvvm"; }
done
find "$tree" -name '__pycache__' -prune -exec rm -rf {} + -o -name '*.py' -exec rm -f {} +

if [ "$flavor" = devel ]; then
    for file in "$target"/lib/*.so.* "$system"/*.so.*; do
        [ -f "$file" ] || continue
        plain=${file%%.so.*}.so
        [ -e "$plain" ] || ln -s "$(basename "$file")" "$plain"
    done
    ln -s "targets/$arch-linux/include" "$root/include"
    ln -s "targets/$arch-linux/lib" "$root/lib"
else
    find "$target" "$system" -name '*.a' -delete 2>/dev/null || true
    rm -rf "$target/lib/cmake" "$target/lib/pkgconfig"
fi
if [ "$flavor" = base ]; then # cudart alone, as in nvidia/cuda:*-base-*
    find "$target/lib" -mindepth 1 ! -name 'libcudart.so*' -delete
fi
ln -s "targets/$arch-linux/lib" "$root/lib64"
ln -s "cuda-$cuda" "$tree/usr/local/cuda"
echo "/usr/local/cuda/targets/$arch-linux/lib" > "$tree/etc/ld.so.conf.d/000_cuda.conf"
printf '%s\n' /usr/local/nvidia/lib /usr/local/nvidia/lib64 > "$tree/etc/ld.so.conf.d/nvidia.conf"
