"""A language model of some thousand weights and its tokenizer, made here: for one step of a real trainer on a CPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["tiny_model", "tokenizer_of"]

TEMPLATE = (
    "{% for m in messages %}<s>{{ m['role'] }}\n{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)
VOCABULARY = 300


def tokenizer_of(texts: Iterable[str]) -> Any:
    """A byte-level tokenizer with a chat template; what it encodes it decodes letter for letter."""
    tokenizers: Any = pytest.importorskip("tokenizers")
    transformers: Any = pytest.importorskip("transformers")
    bytewise = tokenizers.pre_tokenizers.ByteLevel
    learned = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    learned.pre_tokenizer = bytewise(add_prefix_space=False)
    learned.decoder = tokenizers.decoders.ByteLevel()
    special = ["<unk>", "<pad>", "<s>", "</s>"]
    alphabet = bytewise.alphabet()
    learned.train_from_iterator(
        texts,
        tokenizers.trainers.BpeTrainer(
            vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=learned, unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )
    made.chat_template = TEMPLATE
    return made


def tiny_model(tokenizer: Any, kind: str = "LlamaForCausalLM", **options: Any) -> Any:
    """One layer of random weights, always the same ones."""
    torch: Any = pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    torch.manual_seed(0)
    return getattr(transformers, kind)(
        transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=4096,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            **options,
        )
    )
