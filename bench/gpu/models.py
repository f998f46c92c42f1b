"""Makes the models of the GPU benches: SmolLM2's real weights from its GGUF, and a dense shape with random weights.

    python bench/gpu/models.py real GGUF DEST
    python bench/gpu/models.py dense TOKENIZER_FOLDER DEST [--tiny]

A GGUF is read by transformers; its quantization settings are dropped and the weights saved by a fresh model. The dense
shape is Qwen2.5-7B's (hidden 3584, 28 layers, 28 heads over 4) with SmolLM2's vocabulary: 6.9 billion parameters, of
which only the configuration is written; vLLM fills them at random (`load_format=dummy`).
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
from pathlib import Path
from typing import Any

SHAPE = {
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
}
TINY = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja",
                   "vocab.json", "merges.txt", "added_tokens.json")  # fmt: skip


def real(gguf: Path, dest: Path) -> None:
    """Saves the weights of a GGUF as bf16 safetensors, with its tokenizer."""
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    read = transformers.AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name)
    config = read.config
    if hasattr(config, "quantization_config"):
        delattr(config, "quantization_config")
    fresh = transformers.LlamaForCausalLM(config)
    fresh.load_state_dict(read.state_dict())
    fresh.to(torch.bfloat16).save_pretrained(dest)
    # read out of a GGUF it may name another end of text than the model's own
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(config.eos_token_id)
    tokenizer.save_pretrained(dest)


def dense(tokenizer: Path, dest: Path, *, tiny: bool) -> None:
    """Writes the configuration of a dense model and the tokenizer's files."""
    dest.mkdir(parents=True, exist_ok=True)
    small: dict[str, Any] = json.loads((tokenizer / "config.json").read_text())
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "vocab_size": small["vocab_size"],
        "bos_token_id": small.get("bos_token_id", 1),
        "eos_token_id": small.get("eos_token_id", 2),
        **(TINY if tiny else SHAPE),
    }
    (dest / "config.json").write_text(json.dumps(config, indent=2))
    for name in TOKENIZER_FILES:
        if (tokenizer / name).is_file():
            shutil.copy(tokenizer / name, dest / name)


def main() -> None:
    """As the module says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind, source in (("real", "gguf"), ("dense", "tokenizer")):
        one = kinds.add_parser(kind)
        one.add_argument(source, type=Path)
        one.add_argument("dest", type=Path)
    kinds.choices["dense"].add_argument("--tiny", action="store_true")
    asked = parser.parse_args()
    if asked.kind == "real":
        real(asked.gguf, asked.dest)
    else:
        dense(asked.tokenizer, asked.dest, tiny=asked.tiny)


if __name__ == "__main__":
    main()
