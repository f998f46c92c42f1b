#!/bin/bash
# What `groundwire improve` needs on a GPU machine that reaches no package registry, beside the vLLM bundle and
# bundle.sh's: the trainers, the sandbox, the command line. x86-64, Python 3.12.
#
#   improve_bundle.sh DEST [DATA]   -> DEST/improve.tar.xz (6 MB), and DEST/improve-large.tar.xz (under 58 MB a piece)
#
# DATA: a folder with mbpp/mbpp.jsonl and humaneval/HumanEval.jsonl, which are put into the part too. torch comes with
# the machine, transformers with the vLLM bundle (its version 4, which reads the tokenizer of the model right; `datasets`
# is of a version that goes with it). What is large (pyarrow, scipy, matplotlib …) machines with torch have as a rule:
# carry improve-large only where `improve.sh PARTS check` says that something of it is missing.
set -euo pipefail
dest=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
platforms=()
for n in $(seq 17 39); do platforms+=(--platform "manylinux_2_${n}_x86_64"); done
platforms+=(--platform manylinux2014_x86_64 --platform manylinux1_x86_64)
for name in improve improve-large; do
  python3 -m pip install --quiet --no-deps --no-compile --python-version 3.12 --implementation cp --only-binary=:all: \
    "${platforms[@]}" --target "$work/$name" --requirement "$here/$name-pins.txt"
  # tests that nobody here runs
  find "$work/$name" -type d -name tests -prune -exec rm -rf {} +
done
if [ $# -gt 1 ]; then
  mkdir "$work/improve/data"
  cp "$2/mbpp/mbpp.jsonl" "$2/humaneval/HumanEval.jsonl" "$work/improve/data/"
fi
tar -C "$work" -cf - improve | xz -T2 -3 > "$dest/improve.tar.xz"
tar -C "$work" -cf - improve-large | xz -T2 -3 | split -b 55m -d -a 1 - "$dest/improve-large.tar.xz."
(cd "$dest" && sha256sum improve.tar.xz improve-large.tar.xz.* > improve.sha256)
du -sh "$dest"/improve*.tar.xz*
