#!/bin/bash
# Trains SmolLM2-135M-Instruct on its own verified work on one GPU: MBPP train, held out MBPP test and HumanEval.
#
#   improve.sh PARTS STEP…     run from the repository's root; results go to $OUT (default: ./out)
#
# PARTS holds the vLLM bundle, groundwire.tar.xz (bundle.sh) and improve.tar.xz (improve_bundle.sh), all in one folder.
# Steps: check (unpacks, looks for what the trainers need, makes the model, doctor, 100 judgings: the first call), and
# ARM-SEED for one arm with one seed: verified-0, unverified-0, model-judged-0, failed-0, of ROUNDS (default: 2) rounds;
# with a larger ROUNDS the same step goes on. Several may run at once, on one card too, each with a STATE and an OUT of
# its own (session.sh does that). Arms of a seed share their first round: FROM=FOLDER is the state of another arm of that
# seed, whose ledger this one begins with. $STATE (default: $OUT/state) is kept between sessions: ledger, keys, rows and
# reports. A figure is in $RESULTS (default: $OUT/results.jsonl) when it is made; a step that was cut off goes on.
# CHECK=1: the flags of an arm and its engine's alone, on any machine. SMALL=1: a dry run on a CPU, at a fiftieth of the size and on tasks that the model solves at times (easy_tasks.py; DATA
# is wanted by the judgings alone). MODEL=FOLDER: another model. LIMIT: seconds of a step. CUDA_VISIBLE_DEVICES: the card.
set -uo pipefail
parts=$(cd "$1" && pwd); shift
export OUT=${OUT:-$PWD/out}; mkdir -p "$OUT"
state=${STATE:-$OUT/state}; mkdir -p "$state"
results=${RESULTS:-$OUT/results.jsonl}
python=${PYTHON:-python3}
small=${SMALL:-}
rounds=${ROUNDS:-2}
began=$SECONDS failed=0

running=
# whoever ends this one ends the step, which would hold the card
trap '[ -z "$running" ] || kill $running 2>/dev/null; exit 143' TERM INT

say() { printf '%4d s  %s\n' $((SECONDS - began)) "$*"; }
step() {
  local limit=$1 name=$2; shift 2
  say "$name begins"
  [ ! -s "$OUT/$name.log" ] || mv "$OUT/$name.log" "$OUT/$name.log.before"
  : > "$OUT/$name.log"
  timeout --kill-after=20 "$limit" "$@" > "$OUT/$name.log" 2>&1 &
  running=$!
  { tail -n +1 -f -s 0.5 --pid=$running "$OUT/$name.log" | grep --line-buffered -E '^\{"(bench"|type": "round")' |
      sed -u "s/^{/{\"step\": \"$name\", /" | tee -a "$results"; } &
  local telling=$! status=0
  wait $running || status=$?
  running=
  wait $telling
  say "$name ends with status $status"
  [ $status = 0 ] || { failed=1; tail -n 25 "$OUT/$name.log"; }
  return $status
}
# Its flags, and its engine's, without running it.
checked() {
  "$python" - "$@" << 'CHECKED' || failed=1
import sys
from typer.main import get_command
from groundwire.cli._improve_parts import ModelPlace
from groundwire.cli.commands._app import app
from groundwire.models.vllm_engine import parse_spec
group = get_command(app)
_, command, rest = group.resolve_command(group.make_context("groundwire", sys.argv[1:], allow_extra_args=True), sys.argv[1:])
asked = command.make_context("improve", rest).params
told = ModelPlace.of(asked["model"]).spec().partition(":")[2]
print("checked:", told, parse_spec(told).options.engine_arguments())
CHECKED
}
environment() {
  trainer=""
  data=${DATA:-}
  if [ -z "$small" ]; then
    eval "$(bash "$parts/setup.sh" "$parts")" || exit 1
    [ -d "$parts/gw" ] || tar -C "$parts" -xJf "$parts/groundwire.tar.xz" || exit 1
    [ -d "$parts/improve" ] || tar -C "$parts" -xJf "$parts/improve.tar.xz" || exit 1
    # what is large comes last: it is wanted only where the machine lacks it
    large=""
    if [ -f "$parts/improve-large.tar.xz.0" ]; then
      [ -d "$parts/improve-large" ] || { mkdir "$parts/improve-large" && cat "$parts"/improve-large.tar.xz.* | tar -C "$parts/improve-large" --strip-components=1 -xJ; } || exit 1
      large=":$parts/improve-large"
    fi
    # the bundle's transformers, which reads this tokenizer right, for the trainer too
    trainer="$parts/improve:$parts/tf4$large"
    export PYTHONPATH="$PWD/src:$PWD/packages/groundwire-audit/src:$PYTHONPATH:$parts/gw:$parts/improve$large"
    data=${data:-$parts/improve/data}
  fi
  model=${MODEL:-$parts/smol}
  export PYTHONDONTWRITEBYTECODE=1 GROUNDWIRE_MODEL_CALLS=allow XDG_STATE_HOME="$state/home" XDG_DATA_HOME="$state/home"
  [ -z "$small" ] || export VLLM_CPU_KVCACHE_SPACE=${VLLM_CPU_KVCACHE_SPACE:-1}
  [ -f "$data/mbpp.jsonl" ] || [ -f "$data/mbpp/mbpp.jsonl" ] || { say "no mbpp.jsonl in '$data': name its folder with DATA="; exit 2; }
}
groundwire() { "$python" -c 'from groundwire.cli import main; main()' "$@"; }
# The engine: no compilation and no graphs, which take a minute at each of three starts and pay back little at 135 million
# weights and a thousand samples at once; a cache of its own size, since what is free on a shared card changes.
engine() {
  if [ -n "$small" ]; then echo "?max_model_len=1024&enforce_eager=true"; return; fi
  echo "?max_model_len=1024&enforce_eager=true&max_num_seqs=1024&max_num_batched_tokens=8192&gpu_memory_utilization=0.12&kv_cache_memory_bytes=12884901888"
}
# The ledger and the keys of another arm of the same seed, as they stand; whoever writes it goes on.
begin_with() {
  local from=$1/home/groundwire to=$state/home/groundwire
  [ -f "$from/groundwire.db" ] && [ ! -e "$to/groundwire.db" ] || return 0
  mkdir -p "$to" && cp -r "$from/keys" "$to/" && chmod 700 "$state/home" "$to"
  "$python" - "$from/groundwire.db" "$to/groundwire.db" << 'COPY' || say "nothing taken over from $1"
import sqlite3, sys
with sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True) as one, sqlite3.connect(sys.argv[2]) as other:
    one.backup(other)
COPY
}
if [ -n "${CHECK:-}" ]; then
  # whether weights and data are there is not asked
  trainer="" model=$OUT/no-weights/smol data=$OUT
  mkdir -p "$model"; echo '{}' > "$model/config.json"
  export PYTHONPATH="$PWD/src:$PWD/packages/groundwire-audit/src:${PYTHONPATH:-}"
else
  environment
fi
export -f groundwire; export python
for name in "$@"; do
  case $name in
    check)
      [ -n "$small" ] || PYTHONPATH="$trainer" step 120 imports "$python" -c 'import datasets, accelerate, peft, trl, torch; from trl import SFTTrainer; import matplotlib, pandas, pyarrow, scipy.stats; print(datasets.__version__, trl.__version__, torch.__version__, torch.cuda.device_count())' || say "carry improve-large.tar.xz.* too"
      [ -n "$small" ] || [ -f "$model/model.safetensors" ] || step 150 models "$python" bench/gpu/models.py real "$parts/smol.gguf" "$model" || exit 1
      step 120 doctor bash -c 'groundwire doctor --json'
      step 200 judgings "$python" bench/gpu/judgings.py --data "$data" ;;
    *-[0-9]*)
      arm=${name%-*} seed=${name##*-}
      limit=${LIMIT:-1500}
      # A cosine from 1e-4 learns as much in all as a constant 5e-5 does. Of MBPP's training tasks a quarter share a run of
      # 13 words with one test task, and none of their rows is learned: hence more samples and solutions of the others.
      more=(--samples 32 --per-task 6 --eval-samples 12 --answer-tokens 256 --epochs 4 --learning-rate 1e-4)
      tasks="mbpp-signatures:$data@train" eval_sets=(--eval "mbpp-signatures:$data@test" --eval "humaneval:$data")
      if [ -n "$small" ]; then
        limit=${LIMIT:-7200}  # an engine's start takes minutes on a busy CPU, and there are three
        more=(--samples 8 --per-task 4 --eval-samples 6 --answer-tokens 48 --epochs 1 --learning-rate 5e-5)
        "$python" bench/gpu/easy_tasks.py "$state/easy" || exit 1
        tasks="$state/easy/train" eval_sets=(--eval "$state/easy/eval")
      fi
      form=${SMALL_FORM:-vllm}
      options=""; [ "$form" != vllm ] || options=$(engine)
      [ -z "${FROM:-}" ] || begin_with "$FROM"
      improving=(step "$limit" "$name" "$python" -c 'from groundwire.cli import main; main()')
      [ -z "${CHECK:-}" ] || improving=(checked)
      "${improving[@]}" improve "$form:$model$options" \
        --tasks "$tasks" "${eval_sets[@]}" --drop-overlaps --out "$state/$name" --rounds "$rounds" --seed "$seed" \
        --arm "$arm" --batch-size 32 --max-length 640 --go-on \
        ${trainer:+--trainer-path "$trainer"} --json "${more[@]}"
      for file in report.json report.md report.html curve.svg diversity.svg improve.json; do
        cp "$state/$name/$file" "$OUT/$name-$file" 2>/dev/null; done ;;
    *) say "no such step: $name"; exit 2 ;;
  esac
done
[ -z "${CHECK:-}" ] || exit $failed
# rows and reports alone: weights are made anew, and a ledger is large (session.sh fetch NAME)
tar -C "$state" --exclude='*/model' --exclude='*/model.partial' --exclude='*/training/checkpoint-*' --exclude='./home' -cJf "$OUT/state.tar.xz" .
say "done"
exit $failed
