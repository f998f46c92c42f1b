"""Trains a model on exported rows, by TRL. A program of its own: it imports nothing of groundwire, and may run in
another environment (`--trainer-python`), where the trainers are installed and groundwire is not.

    python trainer.py SPEC.json

It tells its progress as JSON lines on standard output. What is trained lies in `out` when it is complete, and not
before; a failure is told in `failed.json` beside the spec: its kind, and what was said. Killed, it goes on from its
last epoch when it is started again. It ends when its standard input does: that is held open by whoever started it.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import importlib.metadata
import json
import os
import resource
import shutil
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

PACKAGES = ("trl", "peft", "transformers", "accelerate", "datasets", "torch")


class Untrainable(Exception):
    """Nothing can be trained, and why.

    Args:
        kind: `chat_template`, `tokenizer`, `memory`, `rows`, `package` or `model`.
        detail: what was said.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


def tell(**said: Any) -> None:
    """A line of progress."""
    print(json.dumps(said), flush=True)


def on_one_gpu() -> None:
    """Shows this process the first of its GPUs alone: over several, each would take a batch, and a step would be of
    several times the rows that were asked for."""
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]


def end_with_input() -> None:
    """Ends this process when whoever started it is gone: two trainers at work on one folder would spoil it. The pipe
    also tells of one that was killed before this began, or that started this through another program."""

    def watch() -> None:
        # not by way of `sys.stdin`, whose lock would be held while Python ends
        while os.read(0, 4096):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def tokenizer_of(spec: dict[str, Any]) -> Any:
    """The tokenizer, which gives back what it reads.

    Raises:
        Untrainable: it can't be had, or loses something.
    """
    transformers: Any = importlib.import_module("transformers")
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(spec["model"], local_files_only=True)
    except Exception as error:  # whatever a damaged file makes the library raise
        raise Untrainable("tokenizer", str(error)) from error
    if not tokenizer.chat_template:
        raise Untrainable("chat_template", "the tokenizer has no chat template")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    probe = [{"role": "user", "content": "def f(x):\n    return x"}]
    try:
        text = tokenizer.apply_chat_template(probe, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        back = tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    except Exception as error:
        raise Untrainable("tokenizer", f"it fails on a chat of its own template: {error}") from error
    # one that loses what stands between words would teach programs without indentation
    if "    return x" not in back:
        raise Untrainable("tokenizer", f"it does not give back what it reads: {back[-60:]!r}")
    return tokenizer


def model_of(spec: dict[str, Any]) -> Any:
    """The weights.

    Raises:
        Untrainable: they can't be had.
    """
    transformers: Any = importlib.import_module("transformers")
    torch: Any = importlib.import_module("torch")
    try:
        # weights that are trained want more digits than those that are kept
        return transformers.AutoModelForCausalLM.from_pretrained(
            spec["model"], local_files_only=True, dtype=torch.float32
        )
    except (MemoryError, RuntimeError) as error:
        raise Untrainable("memory" if is_memory(error) else "model", str(error)) from error
    except Exception as error:
        raise Untrainable("model", str(error)) from error


def is_memory(error: BaseException) -> bool:
    """True where there was not enough memory."""
    said = str(error).lower()
    names = {kind.__name__ for kind in type(error).__mro__}
    # a thread that can't be started had no room for its stack
    marks = ("out of memory", "can't allocate", "cannot allocate", "not enough memory", "can't start new thread")
    return bool(names & {"MemoryError", "OutOfMemoryError"}) or any(mark in said for mark in marks)


def trainer_of(spec: dict[str, Any], model: Any, tokenizer: Any, rows: Any, micro: int) -> Any:
    """The trainer of a method."""
    trl: Any = importlib.import_module("trl")
    torch: Any = importlib.import_module("torch")
    on_gpu = bool(torch.cuda.is_available())
    arguments: dict[str, Any] = {
        "output_dir": spec["work"],
        "num_train_epochs": spec["epochs"],
        "learning_rate": spec["learning_rate"],
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": spec["batch_size"] // micro,
        "lr_scheduler_type": "cosine",
        "warmup_steps": spec["warmup_steps"],
        "max_grad_norm": 1.0,
        "seed": spec["seed"],
        "data_seed": spec["seed"],
        "save_strategy": "epoch",
        "save_total_limit": 1,
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": not on_gpu,
        "bf16": on_gpu,
        "gradient_checkpointing": False,
        "dataloader_num_workers": 0,
    }
    more: dict[str, Any] = {}
    if spec["adapter"]:
        peft: Any = importlib.import_module("peft")
        model = peft.PeftModel.from_pretrained(model, spec["adapter"], is_trainable=True)
    elif spec["lora"]:
        peft = importlib.import_module("peft")
        more["peft_config"] = peft.LoraConfig(
            r=spec["lora"],
            lora_alpha=2 * spec["lora"],
            lora_dropout=0.0,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
        )
    method = spec["method"]
    if method == "grpo":
        return grpo_of(spec, trl, model, tokenizer, rows, arguments, more)
    name = {"sft": "SFT", "dpo": "DPO", "kto": "KTO"}[method]
    own = {"beta": spec["beta"]} if method != "sft" else {}
    settings = getattr(trl, f"{name}Config")(**arguments, max_length=spec["max_length"], **own)
    kind = getattr(trl, f"{name}Trainer")
    return kind(model=model, args=settings, train_dataset=rows, processing_class=tokenizer, **more)


def grpo_of(
    spec: dict[str, Any], trl: Any, model: Any, tokenizer: Any, rows: Any, arguments: dict[str, Any], more: Any
) -> Any:
    """GRPO samples anew, and `groundwire reward serve` judges; what got no verdict is None, which TRL masks."""
    token = os.environ.get("GROUNDWIRE_REWARD_TOKEN", "")
    address = f"{spec['reward_url']}/v1/rewards"

    def judged(prompts: list[Any], completions: list[Any], **columns: Any) -> list[float | None]:
        items = [{"task_id": name, "completion": said} for name, said in zip(columns["task"], completions, strict=True)]
        head = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        asked = urllib.request.Request(address, json.dumps({"items": items}).encode(), head)
        with urllib.request.urlopen(asked) as answer:
            return [one["reward"] for one in json.load(answer)["rewards"]]

    settings = trl.GRPOConfig(
        **arguments,
        num_generations=spec["group"],
        max_completion_length=spec["max_completion"],
        temperature=spec["temperature"],
        beta=spec["beta"],
    )
    return trl.GRPOTrainer(
        model=model, reward_funcs=judged, args=settings, train_dataset=rows, processing_class=tokenizer, **more
    )


def followed(trainer: Any) -> None:
    """Tells of each step."""
    transformers: Any = importlib.import_module("transformers")

    class Telling(transformers.TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if logs and "loss" in logs:
                tell(step=state.global_step, steps=state.max_steps, epoch=round(state.epoch or 0, 3), loss=logs["loss"])

    trainer.remove_callback(transformers.PrinterCallback)
    trainer.add_callback(Telling())


def checkpoint_in(work: Path) -> str | None:
    """The last epoch that an earlier process came to."""
    found = sorted(work.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    whole = [path for path in found if (path / "trainer_state.json").is_file()]  # it is written last
    return str(whole[-1]) if whole else None


def trained(spec: dict[str, Any], tokenizer: Any, rows: Any) -> tuple[Any, Any]:
    """Trains; where memory is short, several smaller batches make one step. Returns the trainer, and what it came to.

    Raises:
        Untrainable: there is not enough memory for a single row.
    """
    micro = spec["batch_size"]
    while True:
        # inside: what failed must be let go of before it is tried again
        model = model_of(spec)
        try:
            trainer = trainer_of(spec, model, tokenizer, rows, micro)
            followed(trainer)
            begun = checkpoint_in(Path(spec["work"]))
            if begun:
                tell(resumed=begun)
            result = trainer.train(resume_from_checkpoint=begun)
            return trainer, result
        except (MemoryError, RuntimeError) as error:
            if not is_memory(error):
                raise
            if micro == 1 or (micro == 2 and spec["method"] == "kto"):
                raise Untrainable("memory", str(error)) from error
        trainer = model = None
        gc.collect()
        micro = next(rows for rows in range(micro // 2, 0, -1) if spec["batch_size"] % rows == 0)
        tell(memory="short", rows_at_a_time=micro)


def saved(spec: dict[str, Any], trainer: Any, tokenizer: Any, told: dict[str, Any]) -> None:
    """Writes the folder, and gives it its name once it is complete."""
    torch: Any = importlib.import_module("torch")
    out = Path(spec["out"])
    partial = out.with_name(f"{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    model = trainer.accelerator.unwrap_model(trainer.model)
    if spec["lora"] and spec["merge"]:
        model = model.merge_and_unload()
    if not (spec["lora"] and not spec["merge"]):
        kept = json.loads((Path(spec["model"]) / "config.json").read_text())
        name = str(kept.get("dtype") or kept.get("torch_dtype") or "float32").removeprefix("torch.")
        model = model.to(getattr(torch, name))
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    source = Path(spec["model"])
    if (source / "chat_template.jinja").is_file() and not (partial / "chat_template.jinja").is_file():
        shutil.copy(source / "chat_template.jinja", partial)
    if not (spec["lora"] and not spec["merge"]):
        # how it is run stays as it was: TRL puts the tokenizer's end of text in place of the model's own
        for name in ("config.json", "generation_config.json"):
            (partial / name).unlink(missing_ok=True)
            if (source / name).is_file():
                shutil.copy(source / name, partial)
    (partial / "training.json").write_text(json.dumps(told, indent=2))
    shutil.rmtree(out, ignore_errors=True)
    partial.rename(out)


def versions() -> dict[str, str]:
    """Of what had a part in it."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def run(spec: dict[str, Any]) -> None:
    """One training.

    Raises:
        Untrainable: it can't be done.
    """
    started = time.monotonic()
    try:
        tokenizer = tokenizer_of(spec)
    except ImportError as error:
        raise Untrainable("package", str(error)) from error
    for name in ("torch", "transformers", "datasets", "trl", *(("peft",) if spec["lora"] else ())):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise Untrainable("package", f"{name}: {error}") from error
    if spec["memory_bytes"]:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + spec["memory_bytes"],) * 2)
    columns = {
        "sft": ("prompt", "completion"),
        "dpo": ("prompt", "chosen", "rejected"),
        "kto": ("prompt", "completion", "label"),
        "grpo": ("prompt", "task"),
    }
    kept = columns[spec["method"]]
    with Path(spec["rows"]).open(encoding="utf-8") as file:
        rows = [{name: row[name] for name in kept} for row in map(json.loads, file)]
    if not rows:
        raise Untrainable("rows", "there is no row")
    datasets: Any = importlib.import_module("datasets")
    torch: Any = importlib.import_module("torch")
    torch.manual_seed(spec["seed"])
    ready = time.monotonic()
    trainer, result = trained(spec, tokenizer, datasets.Dataset.from_list(rows))
    told = {
        "method": spec["method"],
        "lora": spec["lora"],
        "rows": len(rows),
        "steps": int(result.global_step),
        "loss": round(float(result.training_loss), 6),
        "seed": spec["seed"],
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "import_s": round(ready - started, 2),
        "train_s": round(time.monotonic() - ready, 2),
        "versions": versions(),
    }
    saved(spec, trainer, tokenizer, told)
    tell(done=told)


def main() -> int:
    """As the module says."""
    place = Path(sys.argv[1])
    spec: dict[str, Any] = json.loads(place.read_text())
    work = Path(spec["work"])
    work.mkdir(parents=True, exist_ok=True)
    on_one_gpu()
    with (work / "lock").open("w") as lock:
        end_with_input()
        # an earlier one that has lost who started it is about to end
        fcntl.flock(lock, fcntl.LOCK_EX)
        failed = place.with_name("failed.json")
        failed.unlink(missing_ok=True)
        try:
            run(spec)
        except Untrainable as refused:
            failed.write_text(json.dumps({"kind": refused.kind, "detail": refused.detail[:4000]}))
            return 1
        except Exception as error:
            kind = "memory" if is_memory(error) else "other"
            failed.write_text(json.dumps({"kind": kind, "detail": f"{type(error).__name__}: {error}"[:4000]}))
            raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
