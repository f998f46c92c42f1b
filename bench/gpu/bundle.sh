#!/bin/bash
# What groundwire needs on a GPU machine that reaches no package registry, beside the vLLM bundle: x86-64, Python 3.12.
#
#   bundle.sh DEST     -> DEST/groundwire.tar.xz (under 58 MB); put it beside the vLLM bundle's files
#
# groundwire itself travels as the working tree; what the machine or the vLLM bundle has is left out.
set -euo pipefail
dest=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
platforms=()
for n in $(seq 17 39); do platforms+=(--platform "manylinux_2_${n}_x86_64"); done
platforms+=(--platform manylinux2014_x86_64 --platform manylinux1_x86_64)
python3 -m pip install --quiet --no-deps --no-compile --python-version 3.12 --implementation cp --only-binary=:all: \
  "${platforms[@]}" --target "$work/gw" --requirement "$here/groundwire-pins.txt"
# a proxy server's pages, not a client's
rm -rf "$work"/gw/litellm/proxy/_experimental/out "$work"/gw/bin
tar -C "$work" -cf - gw | xz -T2 -3 > "$dest/groundwire.tar.xz"
du -sh "$work/gw" "$dest/groundwire.tar.xz"
