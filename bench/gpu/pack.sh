#!/bin/bash
# Puts the bundles into as few pieces as a machine's transfers take, for session.sh.
#
#   pack.sh BUNDLE DEST [BYTES]   -> DEST/carry-1 … carry-N, each at most BYTES (default 54,000,000)
#
# BUNDLE: the folder that the vLLM bundle's script, bundle.sh and improve_bundle.sh have filled. Left out are what only
# links or debugs needs, and LiteLLM, which no local engine asks. The weights come last: what they are not needed for
# can begin before. TOKENIZER: a folder with the tokenizer's files (models.py real makes it), for models without weights.
set -euo pipefail
bundle=$(cd "$1" && pwd) dest=$(mkdir -p "$2" && cd "$2" && pwd) most=${3:-54000000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find "$bundle" -name 'site.tar.xz.*' | sort | xargs cat | xz -dc -T2 | tar -C "$work" -xf -
tar -C "$work" -xJf "$bundle/groundwire.tar.xz"
tar -C "$work" -xJf "$bundle/improve.tar.xz"
rm -rf "$work"/gw/litellm "$work"/gw/litellm-* "$work"/site/xgrammar/lib/libxgrammar.a
find "$work" -name '*.so' -size +4M -path '*xgrammar*' -exec strip --strip-debug {} +
mkdir "$work/tokenizer"
for name in tokenizer.json tokenizer_config.json special_tokens_map.json chat_template.jinja config.json; do
  [ ! -f "$TOKENIZER/$name" ] || cp "$TOKENIZER/$name" "$work/tokenizer/"
done
find "$work" -name __pycache__ -prune -exec rm -rf {} +
tar -C "$work" -cf - site tf4 gw improve tokenizer | xz -T2 -4 | split -b "$most" -d - "$work/software.tar.xz."
find "$bundle" -name 'smol.gguf.*' | sort | xargs cat > "$work/smol.gguf"
last=$(ls "$work"/software.tar.xz.* | tail -1)
head -c $((most - $(stat -c %s "$last"))) "$work/smol.gguf" > "$work/smol.gguf.00"
tail -c +$(($(stat -c %s "$work/smol.gguf.00") + 1)) "$work/smol.gguf" | split -b "$most" -d -a 1 - "$work/smol.gguf.1"
n=0
for piece in "$work"/software.tar.xz.* "$work"/smol.gguf.1*; do
  n=$((n + 1)); mkdir -p "$dest/carry-$n"; mv "$piece" "$dest/carry-$n/"
  [ "$piece" != "$last" ] || mv "$work/smol.gguf.00" "$dest/carry-$n/"
done
for kind in software smol; do
  (cd "$dest" && for file in carry-*/$kind.*; do printf '%s  %s\n' "$(sha256sum < "$file" | cut -d' ' -f1)" "${file##*/}"; done) > "$work/$kind.sha256"
done
cp "$work"/*.sha256 "$dest/carry-1/"
du -sb "$dest"/carry-*
