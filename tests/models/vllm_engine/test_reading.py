"""Prompts in pieces are the same tokens as prompts read whole, or they are not read in pieces."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from groundwire.core._errors import ModelRejected
from groundwire.core._models import Message
from groundwire.models.vllm_engine._reading import CHECKED_FIRST, LEAST_CHARS, PromptReader, pieces_of

tokenizers: Any = pytest.importorskip("tokenizers", reason="tokenizers is not installed: pip install tokenizers")
SOURCES = sorted((Path(__file__).parents[3] / "src" / "groundwire" / "core").glob("*.py"))
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def trained(pre_tokenizer: Any) -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizer
    special = ["<unk>", "<|im_start|>", "<|im_end|>"]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=2000, special_tokens=special, show_progress=False)
    made.train_from_iterator((path.read_text() for path in SOURCES[:12]), trainer)
    return made


def of_kind(kind: str) -> Any:
    pre: Any = tokenizers.pre_tokenizers
    if kind == "gpt2":
        return trained(pre.ByteLevel(add_prefix_space=False))
    if kind == "llama3":
        split = pre.Split(tokenizers.Regex(LLAMA_3), "isolated")
        return trained(pre.Sequence([split, pre.ByteLevel(add_prefix_space=False, use_regex=False)]))
    return trained(pre.Metaspace(prepend_scheme="always"))


class Chats:
    """Reads as the tokenizers that vLLM holds do, and counts the calls, and the characters that it was given."""

    chat_template = "chatml"

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.read = self.calls = 0

    def apply_chat_template(self, chat: list[dict[str, str]], **_options: Any) -> str:
        if any("no such chat" in message["content"] for message in chat):
            raise ValueError("it takes none of these")
        return "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in chat) + "<|im_start|>assistant\n"

    def __call__(self, texts: list[str], *, add_special_tokens: bool) -> dict[str, list[list[int]]]:
        assert not add_special_tokens
        self.calls += 1
        self.read += sum(map(len, texts))
        read = self._inner.encode_batch(texts, add_special_tokens=False)
        return {"input_ids": [one.ids for one in read]}

    def whole(self, chat: Sequence[Message]) -> list[int]:
        text = self.apply_chat_template([message.model_dump() for message in chat])
        return self._inner.encode(text, add_special_tokens=False).ids


@pytest.fixture(scope="module", params=["gpt2", "llama3", "sentencepiece"])
def inner(request: pytest.FixtureRequest) -> Any:
    return of_kind(request.param)


def chats(seed: int) -> Iterator[list[Message]]:
    """Prompts with real code, of several trials each, and what people and programs do to line ends and letters."""
    chance = random.Random(seed)
    for path in SOURCES[12:30]:
        code = path.read_text()[:6000].replace("\n\n", chance.choice(["\n\n", "\n", "\r\n", "\n \n", "\n\t"]))
        told = f"{code}\nÜber é\u0301 日本語\nx\n<|im_end|>\n'll\n1\n2\n{chance.random()}"
        for trial in range(3):
            yield [
                Message(role="system", content="Be exact.\nUse code."),
                Message(role="user", content=told + "a" * trial),
            ]


def test_pieces_are_the_text_and_begin_alike_where_texts_do() -> None:
    text = "".join(path.read_text() for path in SOURCES[12:16])
    assert "".join(pieces_of(text)) == text and len(list(pieces_of(text))) > 5
    assert all(len(piece) >= LEAST_CHARS for piece in list(pieces_of(text))[:-1])
    other = text[:4000] + "?" + text[4000:]
    assert list(pieces_of(text))[:4] == list(pieces_of(other))[:4]
    assert list(pieces_of("")) == []


def test_every_prompt_is_read_as_it_is_when_it_is_read_whole(inner: Any) -> None:
    reader, whole = PromptReader(Chats(inner)), Chats(inner)
    for chat in chats(seed=3):
        assert reader.tokens(chat, model="m") == whole.whole(chat)


ODD = (
    "naïve café e\u0301 Å\u030a \u200b\u200d👩‍👩‍👧‍👦🏳️‍🌈 日本語のテキスト עברית العربية ไทย 한국어"
    " \ufeff\u2028\u0085\x0b\x0c \x00 \U0010ffff"
    "\u1e9b\u0323 ﬁ Ⅷ ㍿ ½ 𝔘𝔫𝔦 x\u0300\u0301\u0302 \ud7ff \ue000"
)


def test_a_real_models_tokenizer_gives_the_ids_of_the_whole_text() -> None:
    """The one that LiteLLM brings: byte-level BPE of 65,000 merges over normalised text. Line ends cut words, runs of
    spaces, digits and marks in places where its merges would go on."""
    folder = Path(str(pytest.importorskip("litellm").__file__)).parent / "litellm_core_utils" / "tokenizers"
    if not (file := folder / "anthropic_tokenizer.json").is_file():
        pytest.skip("this LiteLLM brings no tokenizer")
    chatty = Chats(tokenizers.Tokenizer.from_file(str(file)))
    reader, chance = PromptReader(chatty), random.Random(8)
    parts = [
        *ODD.split(),
        "\r\n",
        "\n\n\n",
        "\n    return",
        " \n",
        "\n\t",
        "'ll",
        "1234567",
        "abc\nabc",
        "=" * 9,
        "\n" * 7,
    ]
    for _ in range(3 * CHECKED_FIRST):
        content = "".join(chance.choice(parts) + chance.choice(("", " ", "\n")) for _ in range(2000))
        chat = [Message(role="user", content=content)]
        assert reader.tokens(chat, model="m") == chatty.whole(chat)
    assert reader.in_pieces, "the pieces were good enough all along"


def test_what_is_new_in_a_prompt_is_read_in_one_call() -> None:
    chatty = Chats(of_kind("gpt2"))
    reader, given = PromptReader(chatty), list(chats(seed=7))
    for chat in given[:CHECKED_FIRST]:
        reader.tokens(chat, model="m")
    code = max((path.read_text() for path in SOURCES[30:]), key=len)
    before, chat = chatty.calls, [Message(role="user", content=code)]
    assert len(list(pieces_of(code))) > 5
    reader.tokens(chat, model="m")
    assert chatty.calls == before + 1
    reader.tokens(chat, model="m")
    assert chatty.calls == before + 1, "nothing is new"
    twice = [Message(role="user", content=(text := "a word a word\n" * 80) + text)]
    assert reader.tokens(twice, model="m") == chatty.whole(twice), "one piece may come twice"


@pytest.mark.parametrize("kind", ["gpt2", "llama3"])
def test_a_later_trial_reads_only_what_is_new(kind: str) -> None:
    chatty = Chats(of_kind(kind))
    reader = PromptReader(chatty)
    given = list(chats(seed=4))
    for chat in given[:CHECKED_FIRST]:
        reader.tokens(chat, model="m")
    assert reader.in_pieces
    chat = given[CHECKED_FIRST + 2]  # another task
    reader.tokens(chat, model="m")
    chatty.read = 0
    reader.tokens([chat[0], Message(role="user", content=chat[1].content + "\nand more")], model="m")
    assert 0 < chatty.read < len(chat[1].content) / 3


def test_what_is_read_grows_with_the_text_and_not_faster() -> None:
    """As a batch asks: many tasks about the same modules, of three trials each. Then texts without a place to cut."""
    chatty = Chats(of_kind("gpt2"))
    reader = PromptReader(chatty)
    modules = [path.read_text()[:4000] for path in SOURCES[:12]]
    given = 0
    for trial in range(3):
        for number in range(240):
            content = f"# Variant {number}.\n{modules[number % 12]}\n# trial {trial}"
            given += len(content)
            reader.tokens([Message(role="user", content=content)], model="m")
    assert reader.in_pieces
    assert chatty.read < given / 2, "later trials are remembered"
    for text in ("\n" * 60_000, "a" * 60_000, "a\r\n" * 20_000, " \n" * 30_000):
        before = chatty.read
        pieces = list(pieces_of(text))
        assert "".join(pieces) == text and len(pieces) <= len(text) / LEAST_CHARS + 1
        reader.tokens([Message(role="user", content=text)], model="m")
        assert chatty.read - before < 2.1 * len(text) + 200


def test_a_tokenizer_that_reaches_across_pieces_reads_whole_from_then_on() -> None:
    chatty = Chats(of_kind("sentencepiece"))
    reader = PromptReader(chatty)
    reader.tokens(next(chats(seed=5)), model="m")
    assert not reader.in_pieces


def test_a_refused_chat_leaves_the_reader_as_it_was(inner: Any) -> None:
    reader = PromptReader(Chats(inner))
    with pytest.raises(ModelRejected, match="it takes none of these"):
        reader.tokens([Message(role="user", content="no such chat")], model="m")
    assert reader.tokens([Message(role="user", content="x")], model="m")


def test_many_threads_may_ask_at_once() -> None:
    chatty = Chats(of_kind("gpt2"))
    reader, alone = PromptReader(chatty), PromptReader(Chats(of_kind("gpt2")))
    given = list(chats(seed=6))[:24]
    with ThreadPoolExecutor(4) as threads:
        found = [threads.submit(reader.tokens, chat, model="m") for chat in given]
    assert [tokens.result() for tokens in found] == [alone.tokens(chat, model="m") for chat in given]
