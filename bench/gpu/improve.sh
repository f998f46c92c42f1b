#!/bin/bash
# Trains SmolLM2-135M-Instruct on its own verified work on one GPU: MBPP train, held out MBPP test and HumanEval.
#
#   improve.sh PARTS STEP…     run from the repository's root; results go to $OUT (default: ./out)
#
# PARTS holds the vLLM bundle, groundwire.tar.xz (bundle.sh) and improve.tar.xz.* (improve_bundle.sh), all in one folder.
# Steps: check (unpacks, makes the model, doctor, 100 judgings: the first call), and ARM-SEED for one arm with one seed:
# verified-0, unverified-0, model-judged-0, failed-0. One session takes an arm-group of one seed in about 25 minutes; the
# arms of a seed share their first round. Round three (`ROUNDS=3`) is for the controls. What was done is kept in
# $STATE (default: $OUT/state), which is carried on between sessions: ledger, keys, rows and reports, no weights. A step
# that was cut off goes on. SMALL=1: a dry run on a CPU, at a fiftieth of the size and on tasks that the model solves at
# times (easy_tasks.py; DATA is wanted by the judgings alone). MODEL=FOLDER: another model.
set -uo pipefail
parts=$(cd "$1" && pwd); shift
export OUT=${OUT:-$PWD/out}; mkdir -p "$OUT"
state=${STATE:-$OUT/state}; mkdir -p "$state"
python=${PYTHON:-python3}
small=${SMALL:-}
rounds=${ROUNDS:-2}
began=$SECONDS

say() { printf '%4d s  %s\n' $((SECONDS - began)) "$*"; }
step() {
  local limit=$1 name=$2; shift 2
  say "$name begins"
  timeout --kill-after=20 "$limit" "$@" > "$OUT/$name.log" 2>&1
  local status=$?
  say "$name ends with status $status"
  [ $status = 0 ] || tail -n 25 "$OUT/$name.log"
  return $status
}
environment() {
  trainer=""
  data=${DATA:-}
  if [ -z "$small" ]; then
    eval "$(bash "$parts/setup.sh" "$parts")" || exit 1
    [ -d "$parts/gw" ] || tar -C "$parts" -xJf "$parts/groundwire.tar.xz" || exit 1
    [ -d "$parts/improve" ] || { (cd "$parts" && sha256sum --quiet -c improve.sha256) && cat "$parts"/improve.tar.xz.* | tar -C "$parts" -xJ; } || exit 1
    # the bundle's transformers, which reads this tokenizer right, for the trainer too
    trainer="$parts/improve:$parts/tf4:$parts/site"
    export PYTHONPATH="$PWD/src:$PWD/packages/groundwire-audit/src:$PYTHONPATH:$parts/gw:$parts/improve"
    data=${data:-$parts/improve/data}
  fi
  model=${MODEL:-$parts/smol}
  export PYTHONDONTWRITEBYTECODE=1 GROUNDWIRE_MODEL_CALLS=allow XDG_STATE_HOME="$state/home" XDG_DATA_HOME="$state/home"
  [ -z "$small" ] || export VLLM_CPU_KVCACHE_SPACE=${VLLM_CPU_KVCACHE_SPACE:-1}
  [ -f "$data/mbpp.jsonl" ] || [ -f "$data/mbpp/mbpp.jsonl" ] || { say "no mbpp.jsonl in '$data': name its folder with DATA="; exit 2; }
}
groundwire() { "$python" -c 'from groundwire.cli import main; main()' "$@"; }
environment
export -f groundwire; export python
for name in "$@"; do
  case $name in
    check)
      [ -n "$small" ] || [ -f "$model/model.safetensors" ] || step 150 models "$python" bench/gpu/models.py real "$parts/smol.gguf" "$model" || exit 1
      step 120 doctor bash -c 'groundwire doctor --json'
      step 200 judgings "$python" bench/gpu/judgings.py --data "$data" ;;
    *-[0-9]*)
      arm=${name%-*} seed=${name##*-}
      limit=1500
      more=(--samples 24 --eval-samples 24 --answer-tokens 256)
      tasks="mbpp:$data@train" eval_sets=(--eval "mbpp:$data@test" --eval "humaneval:$data")
      if [ -n "$small" ]; then
        limit=7200  # an engine's start takes minutes on a busy CPU, and there are three
        more=(--samples 8 --eval-samples 6 --answer-tokens 48 --epochs 1)
        "$python" bench/gpu/easy_tasks.py "$state/easy" || exit 1
        tasks="$state/easy/train" eval_sets=(--eval "$state/easy/eval")
      fi
      form=${SMALL_FORM:-vllm}
      options=""; [ "$form" != vllm ] || options="?max_model_len=1024${small:+&enforce_eager=true}"
      step "$limit" "$name" "$python" -c 'from groundwire.cli import main; main()' improve "$form:$model$options" \
        --tasks "$tasks" "${eval_sets[@]}" --drop-overlaps --out "$state/$name" --rounds "$rounds" --seed "$seed" \
        --arm "$arm" --per-task 4 --epochs 3 --learning-rate 5e-5 --batch-size 32 --max-length 640 --go-on \
        ${trainer:+--trainer-path "$trainer"} --json "${more[@]}"
      grep -E '^\{"type": "(round|summary)"' "$OUT/$name.log" > "$OUT/$name.jsonl"
      cp "$state/$name"/report.* "$state/$name"/*.svg "$OUT/" 2>/dev/null && for file in report.json report.md report.html curve.svg diversity.svg; do
        mv "$OUT/$file" "$OUT/$name-$file" 2>/dev/null; done ;;
    *) say "no such step: $name"; exit 2 ;;
  esac
done
# carried on between sessions: pieces that a transfer may carry, without weights and checkpoints
tar -C "$state" --exclude='*/model' --exclude='*/training/checkpoint-*' -cf - . | xz -T4 -1 | split -b 15m -d - "$OUT/state.tar.xz."
say "done"
