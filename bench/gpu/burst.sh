#!/bin/bash
# The GPU benches on a machine that reaches no package registry, from a folder of parts.
#
#   burst.sh PARTS STEP…     run from the repository's root; results go to $OUT (default: ./out)
#
# PARTS holds the files of the vLLM bundle and groundwire.tar.xz (bench/gpu/bundle.sh), all in one folder.
# Steps: unpack, models, a (real weights, in process), s (real weights, server), b (throughput), k (b in less than six
# minutes: two rounds where the engine starts fast enough, else one; one JSON line a figure), m (b with the ledger in memory, to tell where time goes), n (engines on 1, 2 and all GPUs that are there), c (client at a server), v (DeepConf's vote against a plain one), w (what
# bench_width.py compares, recorded on our own functions and HumanEval; PARTS must hold HumanEval.jsonl).
# Each has a time limit of its own, and one that fails does not keep the next from running. A figure is printed, and in
# $OUT/results.jsonl, when it is made: a run that is cut off has said what it measured. It ends with 1 if a step failed.
# SMALL=1: a dry run on a CPU. CHECK=1: the options of each step alone, with no engine and no parts; on any machine.
set -uo pipefail
parts=$(cd "$1" && pwd); shift
export OUT=${OUT:-$PWD/out}; mkdir -p "$OUT"
python=${PYTHON:-python3}
small=${SMALL:-} failed=0
began=$SECONDS

running=
# whoever ends this one ends the step, which would hold the card
trap '[ -z "$running" ] || kill $running 2>/dev/null; exit 143' TERM INT

say() { printf '%4d s  %s\n' $((SECONDS - began)) "$*"; }
# $1 limit in seconds, $2 name of the log, the rest: the command
step() {
  local limit=$1 name=$2; shift 2
  if [ -n "${CHECK:-}" ]; then
    case $name in
      [askbmnc]-*) say "$name is checked"; "$@" --check || { failed=1; say "$name ends with status 1"; } ;;
      *) say "$name: nothing is checked" ;;
    esac
    return
  fi
  say "$name begins"
  : > "$OUT/$name.log"
  touch "$OUT/$name.began"
  # not through a pipe, which an engine that outlives its program would hold open
  timeout --kill-after=20 "$limit" "$@" > "$OUT/$name.log" 2>&1 &
  running=$!
  { tail -n +1 -f -s 0.5 --pid=$running "$OUT/$name.log" | grep --line-buffered '^{"bench"' | tee -a "$OUT/results.jsonl"; } &
  local telling=$! status=0
  wait $running || status=$?
  wait $telling
  say "$name ends with status $status"
  if [ $status != 0 ]; then
    failed=1
    tail -n 25 "$OUT/$name.log"
    # vLLM's own account of it
    find "${XDG_STATE_HOME:-$HOME/.local/state}/groundwire/logs" -name '*.log' -newer "$OUT/$name.began" \
      -exec tail -n 15 {} + 2>/dev/null
  fi
}
environment() {
  if [ -n "${CHECK:-}" ]; then
    # whether the weights are there is not asked
    parts=$OUT/no-weights
    for name in smol dense; do mkdir -p "$parts/$name"; echo '{}' > "$parts/$name/config.json"; done
    export PYTHONPATH="$PWD/src:$PWD/packages/groundwire-audit/src:${PYTHONPATH:-}"
  elif [ -z "$small" ]; then
    eval "$(bash "$parts/setup.sh" "$parts")" || exit 1
    [ -d "$parts/gw" ] || tar -C "$parts" -xJf "$parts/groundwire.tar.xz" || exit 1
    export PYTHONPATH="$PWD/src:$PYTHONPATH:$parts/gw"
  fi
  # the pinned set was tried together; a proxy's or a notebook's variables have no place here
  export PYTHONDONTWRITEBYTECODE=1 GROUNDWIRE_MODEL_CALLS=allow
  # on a CPU vLLM would reserve 92 % of all memory, and not start where less is free
  [ -z "$small" ] || export VLLM_CPU_KVCACHE_SPACE=${VLLM_CPU_KVCACHE_SPACE:-1}
}
environment
cards=$(nvidia-smi -L 2>/dev/null | wc -l)
[ -z "${CHECK:-}" ] || cards=8
for name in "$@"; do
  case $name in
    unpack) say "unpacked"; timeout 120 "$python" -c 'import groundwire.models, groundwire.graphs, groundwire.memory; print("groundwire", groundwire.__version__)' ;;
    models)
      [ -f "$parts/smol/model.safetensors" ] || step 150 models "$python" bench/gpu/models.py real "$parts/smol.gguf" "$parts/smol"
      step 60 dense "$python" bench/gpu/models.py dense "$parts/smol" "$parts/dense" ${small:+--tiny} ;;
    a) step 200 a-in-process "$python" bench/gpu/real_model.py "vllm:$parts/smol" ${small:+--eager --context 512 --slots 8} ;;
    s) step 260 a-server "$python" bench/gpu/real_model.py "vllm-server:$parts/smol" ${small:+--eager --context 512 --slots 8} ;;
    b) step 420 b-throughput "$python" bench/gpu/throughput.py "$parts/dense" ${small:+--eager --episodes 24 --tokens 16 --slots 8 --rounds 1 --alone 2} ;;
    k) step 360 k-throughput "$python" bench/gpu/throughput.py "$parts/dense" --rounds 2 --within 320 --alone 1 ${small:+--eager --episodes 10 --tokens 16 --slots 8} ;;
    m) step 420 m-throughput "$python" bench/gpu/throughput.py "$parts/dense" --ledger memory --rounds 1 ${small:+--eager --episodes 24 --tokens 16 --slots 8 --alone 2} ;;
    n) step 580 n-replicas "$python" bench/gpu/replicas.py "$parts/dense" --gpus $(for n in 1 2 4 8; do [ $n -gt "$cards" ] || echo $n; done) --clients each --most 150 ;;
    c) step 300 c-server "$python" bench/gpu/server_overhead.py "$parts/smol" ${small:+--eager --in-flight 8 --requests 24 --tokens 16 --rounds 1} ;;
    v) step 330 v-confident "$python" bench/gpu/confident.py "vllm:$parts/smol" ${small:+--eager --items 3 --samples 18 --warm-up 6 --slots 16 --problems easy --keep 50} ;;
    w)
      step 300 w-recording "$python" bench/bench_width.py record "$OUT/width.jsonl" --model "vllm:$parts/smol" --tasks both \
        --data "$parts" --max-tokens 256 --at-once 64 --seconds 160 ${small:+--eager --context 1536 --limit 2 --samples 3}
      # in pieces that a transfer may carry; cat puts them together
      gzip -9c "$OUT/width.jsonl" | split -b 15m -d - "$OUT/width.jsonl.gz." && rm "$OUT/width.jsonl" ;;
    *) say "no such step: $name"; exit 2 ;;
  esac
done
say "done"
exit $failed
