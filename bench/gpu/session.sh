#!/bin/bash
# One lease of a GPU machine from its first file to its last figure: what is to be measured there, side by side.
#
#   bench/gpu/session.sh PARTS check            before the lease, on any machine: each step's options, without an engine
#   bench/gpu/session.sh PARTS                  begins, in a session of its own; goes on when the call that began it ends
#   bench/gpu/session.sh PARTS wait SECONDS     shows what is new, until SECONDS are over, a step has failed or all is done;
#                                               copies results and logs to $OUT. A machine that is given back when nobody
#                                               calls is kept by one such call after the other. Its status: 0, it goes on;
#                                               1, a step has failed; 2, nothing runs any more
#   bench/gpu/session.sh PARTS again STEP       ends STEP where it still runs, and runs it once more beside the rest
#   bench/gpu/session.sh PARTS stop             ends all of it
#   bench/gpu/session.sh PARTS fetch [NAME…]    copies what there is to $OUT; of NAME the ledger too
#
# PARTS holds the pieces that pack.sh made. What needs no weights begins as soon as software.tar.xz.* is there; smol.gguf.*
# may come later. Steps, each with a limit of its own; one that fails keeps none from running, and its last lines are in
# the log at once:
#   imports      reads vLLM from a cold disk, so that no engine's start is measured with that; smol beside it
#   n            engines on one card and on two, nothing beside it (with two cards or more)
#   k            throughput, on the first card: on cores that nobody else uses, before the improvements
#   verified-S   `groundwire improve` for each of SEEDS (default: 0 1 2) at the same time, on the second card if there is one
#   ARM-0        the controls (unverified, model-judged, failed) at the same time, on the first card: one round, then a
#                second; they begin with the ledger of verified-0, whose first samples they share
#   repair       a model shown what failed, before and after, on the held-out tasks (verified-0)
# All ends LAST seconds (default 1,260) after the beginning. PARTS/session holds results.jsonl (a line a figure, the moment
# it is made) and a folder a step. SKIP="n k": leaves steps out, which gives their time to the others. SMALL=1: on a CPU, see burst.sh and improve.sh.
set -uo pipefail
parts=$(cd "$1" && pwd); verb=${2:-begin}; shift; [ $# = 0 ] || shift
own=$(realpath "$0")
session=$parts/session log=$parts/session.log; mkdir -p "$session"
python=${PYTHON:-python3}
last=${LAST:-1260}
seeds=${SEEDS:-0 1 2}
cores=$(nproc)
export RESULTS=$session/results.jsonl PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-4}

copy_out() {
  local out=${OUT:?}
  tail -n 400 "$log" > "$out/session.log" 2>/dev/null
  cp "$RESULTS" "$out/" 2>/dev/null
  # reports, rows and logs, those of the engines too
  (cd "$session" && find . \( -path './state-*' -o -name '*.db' \) -prune -o -type f -print; cd "$session" && find ./state-*/home/groundwire/logs -type f 2>/dev/null) |
    tar -C "$session" -cJf "$out/session.tar.xz" -T - 2>/dev/null
}
fetch() {
  copy_out
  for name in "$@"; do
    # a ledger that is being written can be copied whole
    "$python" -c 'import sqlite3, sys
with sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True) as one, sqlite3.connect(sys.argv[2]) as other: one.backup(other)' \
      "$session/state-$name/home/groundwire/groundwire.db" "$session/$name.db" || continue
    tar -C "$session" -cf - "$name.db" "state-$name/home/groundwire/keys" | xz -T0 -3 | split -b 15m -d -a 1 - "$OUT/$name.tar.xz."
    rm "$session/$name.db"
  done
  tail -n 60 "$log"
}
# What one file has got since it was last shown.
news() {
  local shown=$session/.shown-$(basename "$1") from=0 size
  size=$(stat -c %s "$1" 2>/dev/null) || return 0
  [ ! -f "$shown" ] || from=$(cat "$shown")
  [ "$size" -gt "$from" ] || return 0
  tail -c "+$((from + 1))" "$1" | head -c "$((size - from))" | cut -c1-600
  echo "$size" > "$shown"
}
wait_for() {
  local until=$((SECONDS + ${1:?seconds})) status=0 said
  while :; do
    said=$(news "$log"; news "$RESULTS")
    [ -z "$said" ] || printf '%s\n' "$said"
    if grep -q 'ends with status [1-9]' <<< "$said"; then status=1; break; fi
    if ! any_lives; then status=2; break; fi
    [ $SECONDS -lt $until ] || break
    sleep 1
  done
  copy_out
  return $status
}
# A number in a file is of a process of ours for as long as that is the one which was started then.
started_at() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
note_pid() { echo "$1 $(started_at "$1")" > "$2"; }
lives() {
  local pid at
  read -r pid at 2>/dev/null < "$1" && [ -n "$at" ] && [ "$(started_at "$pid")" = "$at" ]
}
any_lives() { local file; for file in "$session/pid" "$session"/*.again.pid; do ! lives "$file" || return 0; done; return 1; }
of_session() {
  local file rest fields
  for file in /proc/[0-9]*/stat; do
    { read -r rest < "$file"; } 2>/dev/null || continue
    fields=(${rest##*) })  # state, parent, process group, session
    [ "${fields[3]}" != "$1" ] || [[ ${fields[0]} == [ZX] ]] || { file=${file%/stat}; echo "${file#/proc/}"; }
  done
}
# All that was started in the session that this process leads: by its number, never by what a command line holds.
end_session() {
  local pid
  lives "$1" || { rm -f "$1"; return 0; }
  read -r pid _ < "$1"
  kill $(of_session "$pid") 2>/dev/null  # a step's own trap ends its engine
  for _ in $(seq 30); do [ -n "$(of_session "$pid")" ] || break; sleep 0.5; done
  kill -KILL $(of_session "$pid") 2>/dev/null
  rm -f "$1"
}
# In a session of its own, by a copy: the file itself is sent anew with each call, while a shell reads on in it.
run_apart() {
  local copy=$session/run-$*.sh
  copy=${copy// /-}
  cp "$own" "$copy"
  setsid "$BASH" "$copy" "$parts" "$@" < /dev/null &
}
case $verb in
  begin)
    ! lives "$session/pid" || { echo "it runs already; see: $0 $parts wait 60"; exit 2; }
    rm -f "$session"/.shown-*
    run_apart go > "$log" 2>&1
    note_pid $! "$session/pid"; exit ;;
  again)
    step=${1:?a step}
    end_session "$session/$step.again.pid"
    if lives "$session/$step.pid"; then
      read -r pid _ < "$session/$step.pid"
      kill "$pid"
      for _ in $(seq 60); do lives "$session/$step.pid" || break; sleep 0.5; done  # it lets go of its card
    fi
    run_apart one "$step" >> "$log" 2>&1
    note_pid $! "$session/$step.again.pid"; exit ;;
  stop) for file in "$session"/*.again.pid "$session/pid"; do end_session "$file"; done; exit ;;
  wait) wait_for "$@"; exit ;;
  fetch) fetch "$@"; exit ;;
  check)
    CHECK=1 OUT=$session/check-options bash bench/gpu/burst.sh "$parts" k n && CHECK=1 OUT=$session/check-options STATE=$session/check-options bash bench/gpu/improve.sh "$parts" verified-0
    exit ;;
  go|one) ;;
  *) echo "no such verb: $verb"; exit 2 ;;
esac

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
wanted() { [[ " ${SKIP:-} " != *" $1 "* ]]; }
# The seconds of a step: its own limit, or what is left.
within() { local left=$((last - SECONDS)); echo $((left < $1 ? (left > 0 ? left : 1) : $1)); }
run() {
  local limit name=$2; limit=$(within "$1"); shift 2
  [ "$limit" -gt 20 ] || { say "$name is left out: no time is left"; return 1; }
  say "$name begins, at most $limit s"
  timeout --kill-after=30 "$limit" "$@" > "$session/$name.out" 2>&1 &
  local pid=$! status=0
  note_pid $pid "$session/$name.pid"
  wait $pid || status=$?
  rm -f "$session/$name.pid"
  [ $status = 0 ] || tail -n 12 "$session/$name.out" | cut -c1-400
  say "$name ends with status $status"
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
imports() { (eval "$(bash "$parts/setup.sh")"; run 240 imports "$python" -c 'import vllm.entrypoints.openai.api_server, vllm.v1.engine.core'); }
smol() { unpack smol && (eval "$(bash "$parts/setup.sh")"; run 150 smol "$python" bench/gpu/models.py real "$parts/smol.gguf" "$parts/smol"); }
replicas() {
  OUT=$session/n run 400 n bash bench/gpu/burst.sh "$parts" n
  cat "$session/n/results.jsonl" >> "$RESULTS" 2>/dev/null
}
throughput() {  # cores
  OUT=$session/k run 375 k taskset -c "$1" env CUDA_VISIBLE_DEVICES=0 bash bench/gpu/burst.sh "$parts" k
  cat "$session/k/results.jsonl" >> "$RESULTS" 2>/dev/null
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

# what is sent with each call is sent anew: this goes on with what it began with, and a step that is run again with what
# has been sent since
repository=$parts/repository${1:+-$1}
rm -rf "$repository"
mkdir -p "$repository" && cp -r src bench packages pyproject.toml "$repository/" && cd "$repository" || exit 1
cards=$(nvidia-smi -L 2>/dev/null | wc -l)
all=0-$((cores - 1)) other=$((cards > 1 ? 1 : 0))
if [ "$verb" = one ]; then
  case $1 in
    imports|smol|repair) "$1" "$all" "$other" ;;
    n) replicas ;;
    k) throughput "$all" ;;
    check) OUT=$session/check run 330 check bash bench/gpu/improve.sh "$parts" check ;;
    *-[0-9]*) improved "$all" "$other" 900 "$1" "${ROUNDS:-2}" ;;
    *) say "no such step: $1"; exit 2 ;;
  esac
  exit
fi
say "$cards cards, $cores cores; ends after $last s"
if [ -z "${SMALL:-}" ]; then
  unpack software || exit 1
  imports &
  importing=$!
  smol &
  converting=$!
  (eval "$(bash "$parts/setup.sh")"; run 60 dense "$python" bench/gpu/models.py dense "$parts/tokenizer" "$parts/dense")
  wait $importing $converting  # an engine that is measured has the machine to itself
fi
[ "$cards" -lt 2 ] || ! wanted n || replicas
! wanted k || throughput "$all"
[ -n "${SMALL:-}" ] || OUT=$session/check run 330 check bash bench/gpu/improve.sh "$parts" check &
if [ "$cards" -gt 1 ]; then
  controls "$all" 0 &
  first=$!
  ! wanted verified || verified "$all" 1
  ! wanted repair || repair "$all" 1
  wait $first
else
  ! wanted verified || verified "$all" 0
  controls "$all" 0
  ! wanted repair || repair "$all" 0
fi
say "done"
