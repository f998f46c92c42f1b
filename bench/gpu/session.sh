#!/bin/bash
# One lease of a GPU machine from its first file to its last figure: what is to be measured there, side by side.
#
#   setsid bench/gpu/session.sh PARTS > PARTS/session.log 2>&1 &     begins; goes on when the call that began it ends
#   bench/gpu/session.sh PARTS fetch [NAME…]                         copies what there is to $OUT; of NAME the ledger too
#
# PARTS holds the pieces that pack.sh made. What needs no weights begins as soon as software.tar.xz.* is there; smol.gguf.*
# may come later. Steps, each with a limit of its own; one that fails keeps none from running:
#   n            engines on one card and on two, nothing beside it (with two cards or more)
#   k            throughput, on the first card
#   verified-S   `groundwire improve` for each of SEEDS (default: 0 1 2) at the same time, on the second card meanwhile;
#                where there is one card, after k
#   ARM-0        the controls (unverified, model-judged, failed) at the same time, on the first card after k: one round,
#                then a second; they begin with the ledger of verified-0, whose first samples they share
#   repair       a model shown what failed, before and after, on the held-out tasks (verified-0)
# All ends LAST seconds (default 1,260) after the beginning. PARTS/session holds results.jsonl (a line a figure, the moment
# it is made) and a folder a step. SKIP="n k": leaves steps out. SMALL=1: on a CPU, see burst.sh and improve.sh.
set -uo pipefail
parts=$(cd "$1" && pwd); shift
session=$parts/session; mkdir -p "$session"
python=${PYTHON:-python3}
last=${LAST:-1260}
seeds=${SEEDS:-0 1 2}
cores=$(nproc)
export RESULTS=$session/results.jsonl PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-4}

fetch() {
  local out=${OUT:?}
  tail -n 400 "$parts/session.log" > "$out/session.log" 2>/dev/null
  cp "$RESULTS" "$out/" 2>/dev/null
  # reports, rows and logs, those of the engines too
  (cd "$session" && find . \( -path './state-*' -o -name '*.db' \) -prune -o -type f -print; cd "$session" && find ./state-*/home/groundwire/logs -type f 2>/dev/null) |
    tar -C "$session" -cJf "$out/session.tar.xz" -T -
  for name in "$@"; do
    # a ledger that is being written can be copied whole
    "$python" -c 'import sqlite3, sys
with sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True) as one, sqlite3.connect(sys.argv[2]) as other: one.backup(other)' \
      "$session/state-$name/home/groundwire/groundwire.db" "$session/$name.db" || continue
    tar -C "$session" -cf - "$name.db" "state-$name/home/groundwire/keys" | xz -T0 -3 | split -b 15m -d -a 1 - "$out/$name.tar.xz."
    rm "$session/$name.db"
  done
  tail -n 60 "$parts/session.log"
}
if [ "${1:-}" = fetch ]; then shift; fetch "$@"; exit; fi

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
wanted() { [[ " ${SKIP:-} " != *" $1 "* ]]; }
# The seconds of a step: its own limit, or what is left.
within() { local left=$((last - SECONDS)); echo $((left < $1 ? (left > 0 ? left : 1) : $1)); }
run() {
  local limit name=$2; limit=$(within "$1"); shift 2
  [ "$limit" -gt 20 ] || { say "$name is left out: no time is left"; return 1; }
  say "$name begins, at most $limit s"
  timeout --kill-after=30 "$limit" "$@" > "$session/$name.out" 2>&1
  local status=$?
  say "$name ends with status $status"
  [ $status = 0 ] || tail -n 12 "$session/$name.out" | cut -c1-400
  return $status
}

unpack() {
  local kind=$1
  for _ in $(seq 600); do
    (cd "$parts" && sha256sum --quiet -c "$kind.sha256") > /dev/null 2>&1 && break
    sleep 1
  done
  (cd "$parts" && sha256sum --quiet -c "$kind.sha256") || { say "a piece of $kind is missing or broken"; return 1; }
  if [ "$kind" = software ]; then
    [ -d "$parts/site" ] || cat "$parts"/software.tar.xz.* | xz -dc -T8 | tar -C "$parts" -xf -
    cat > "$parts/setup.sh" << SETUP
echo "export PYTHONPATH=$parts/tf4:$parts/site VLLM_USE_FLASHINFER_SAMPLER=0 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 PYTHONUNBUFFERED=1"
SETUP
  else
    cat "$parts"/smol.gguf.* > "$parts/smol.gguf"
  fi
  say "$kind is unpacked"
}
improved() {  # cards' cores, card, limit, step, rounds, state to begin with
  local limit; limit=$(within "$3")
  run "$limit" "$4" taskset -c "$1" env CUDA_VISIBLE_DEVICES="$2" OUT="$session/$4" STATE="$session/state-$4" LIMIT="$((limit - 15))" ROUNDS="$5" \
    FROM="${6:-}" bash bench/gpu/improve.sh "$parts" "$4"
}
verified() {  # cores, card
  local begun=() seed
  for seed in $seeds; do improved "$1" "$2" 900 "verified-$seed" 2 & begun+=($!); done
  wait "${begun[@]}"
}
controls() {  # cores, card
  local begun rounds arm
  # until the samples that all arms share are drawn
  for _ in $(seq 400); do
    ! wanted verified || grep -q '"verified-0", "type": "round", "round": 0' "$RESULTS" 2>/dev/null && break
    sleep 1
  done
  for rounds in 1 2; do
    begun=()
    for arm in unverified model-judged failed; do
      wanted "$arm" || continue
      improved "$1" "$2" 700 "$arm-0" "$rounds" "$session/state-verified-0" & begun+=($!)
    done
    [ ${#begun[@]} = 0 ] || wait "${begun[@]}"
  done
}
repair() {  # cores, card
  local state=$session/state-verified-0 found
  found=$("$python" -c 'import json, sys
told = json.load(open(sys.argv[1]))["models"]
print(next(run for name, run in told[0]["runs"].items() if name.startswith("mbpp")), told[-1]["folder"])' "$state/verified-0/report.json") || return 1
  local options="?max_model_len=2048&enforce_eager=true&gpu_memory_utilization=0.12&kv_cache_memory_bytes=8589934592"
  for which in before after; do
    local model=$parts/smol; [ $which = before ] || model=${found#* }
    run 240 "repair-$which" taskset -c "$1" env CUDA_VISIBLE_DEVICES="$2" bash -c 'eval "$(bash "$1/setup.sh")"
      export PYTHONPATH=$PWD/src:$PWD/packages/groundwire-audit/src:$PYTHONPATH:$1/gw:$1/improve:$1/improve-large GROUNDWIRE_MODEL_CALLS=allow
      export XDG_STATE_HOME=$2/home XDG_DATA_HOME=$2/home
      "$3" -c "from groundwire.cli import main; main()" reward repair "$4" --bench mbpp-signatures --data "$1/improve/data" \
        --split test --model "vllm:$5" --limit 600 --max-answer-tokens 256 --json' \
      repair "$parts" "$state" "$python" "${found%% *}" "$model$options"
    grep '^{' "$session/repair-$which.out" | tail -n 1 | cut -c1-4000 | sed "s/^{/{\"step\": \"repair-$which\", /" >> "$RESULTS"
  done
}

# what is sent with each call is sent anew: this goes on with what it began with
mkdir -p "$parts/repository" && cp -r src bench packages pyproject.toml "$parts/repository/" && cd "$parts/repository" || exit 1
cards=$(nvidia-smi -L 2>/dev/null | wc -l)
say "$cards cards, $cores cores; ends after $last s"
if [ -z "${SMALL:-}" ]; then
  unpack software || exit 1
  (eval "$(bash "$parts/setup.sh")"; run 60 dense "$python" bench/gpu/models.py dense "$parts/tokenizer" "$parts/dense")
fi
if [ "$cards" -gt 1 ] && wanted n; then
  OUT=$session/n run 400 n bash bench/gpu/burst.sh "$parts" n
  cat "$session/n/results.jsonl" >> "$RESULTS" 2>/dev/null
fi
if [ -z "${SMALL:-}" ]; then
  unpack smol && (eval "$(bash "$parts/setup.sh")"; run 150 smol "$python" bench/gpu/models.py real "$parts/smol.gguf" "$parts/smol")
  OUT=$session/check run 330 check bash bench/gpu/improve.sh "$parts" check &
fi
quarter=$((cores / 4 > 0 ? cores / 4 : 1))
all=0-$((cores - 1)) few=0-$((quarter - 1)) many=$quarter-$((cores - 1))
[ "$cards" -gt 1 ] || few=$all many=$all
throughput() { ! wanted k || OUT=$session/k run 375 k taskset -c "$1" env CUDA_VISIBLE_DEVICES=0 bash bench/gpu/burst.sh "$parts" k; cat "$session/k/results.jsonl" >> "$RESULTS" 2>/dev/null; }
if [ "$cards" -gt 1 ]; then
  { throughput "$few"; controls "$all" 0; } &
  first=$!
  ! wanted verified || verified "$many" 1
  ! wanted repair || repair "$many" 1
  wait $first
else
  throughput "$all"
  ! wanted verified || verified "$all" 0
  controls "$all" 0
  ! wanted repair || repair "$all" 0
fi
say "done"
