"""The seal: no changed byte, no foreign signal, no text from outside passes."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from groundwire.core._errors import KeyMissing, SealError, StorageError
from groundwire.core._seal import FileKeys, MemoryKeys, Mint, verify
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Signal, Verdict
from groundwire.core._signing import signer, worker_key

KEY = bytes(range(32))
MINT = Mint("run-1", KEY)

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
cases = st.builds(CaseOutcome, id=texts, result=st.sampled_from(CaseResult), message=texts, duration_s=st.floats(0, 9))
evidence = st.builds(
    Evidence,
    cases=st.lists(cases, max_size=4).map(tuple),
    collected=st.integers(0, 9),
    deselected=st.integers(0, 9),
    stdout=texts,
    stderr=texts,
    stdout_cut=st.integers(0, 10**9),
    detail=texts,
)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    verdict = draw(st.sampled_from(Verdict))
    reason = draw(st.sampled_from(NoVerdict)) if verdict is Verdict.NONE else None
    return Observation(
        verdict=verdict,
        reason=reason,
        origin=draw(st.sampled_from(Origin)),
        command=tuple(draw(st.lists(texts, max_size=3))),
        exit_code=draw(st.none() | st.integers(-1, 255)),
        duration_s=draw(st.floats(0, 1e6)),
        evidence=draw(evidence),
        partial=draw(st.booleans()),
        oracle=draw(st.booleans()),
    )


def mint(observation: Observation) -> Signal:
    return MINT.signal(observation, episode_id="e", trial=1, issuer="test", candidate_digest="c" * 64)


@given(observations())
def test_what_was_minted_verifies_also_after_a_round_trip(observation: Observation) -> None:
    signal = mint(observation)
    MINT.verify(signal)
    again = Signal.from_json(signal.to_json())
    assert again == signal
    MINT.verify(again)


@given(observations(), st.data())
def test_a_changed_field_breaks_the_seal(observation: Observation, data: st.DataObject) -> None:
    signal = mint(observation)
    fields: dict[str, Any] = json.loads(signal.to_json())
    name = data.draw(st.sampled_from(sorted(fields)))
    other = json.loads(mint(data.draw(observations())).to_json())[name] if name != "seal" else "0" * 64
    fields[name] = other
    try:
        changed = Signal.from_json(json.dumps(fields))
    except ValidationError:
        return
    if changed == signal:
        return
    with pytest.raises(SealError):
        MINT.verify(changed)


@given(observations(), st.data())
def test_a_changed_byte_breaks_the_seal(observation: Observation, data: st.DataObject) -> None:
    text = mint(observation).to_json().encode()
    index = data.draw(st.integers(0, len(text) - 1))
    flipped = bytes([text[index] ^ (1 << data.draw(st.integers(0, 6)))])
    try:
        changed = Signal.from_json((text[:index] + flipped + text[index + 1 :]).decode())
    except (ValidationError, UnicodeDecodeError):
        return
    if changed.to_json().encode() == text:  # the same value written another way
        return
    with pytest.raises(SealError):
        MINT.verify(changed)


def test_another_key_and_another_run_are_refused() -> None:
    signal = mint(Observation(verdict=Verdict.FAIL, origin=Origin.TESTS))
    with pytest.raises(SealError) as caught:
        verify(signal, b"x" * 32)
    assert str(caught.value) == (
        f"The seal of signal {signal.id} does not match its content.\n"
        "  The record was changed after it was observed; judge the candidate again."
    )
    verify(signal, KEY)
    with pytest.raises(SealError, match="belongs to run run-1"):
        Mint("run-2", KEY).verify(signal)


def test_a_signal_has_no_constructor() -> None:
    signal = mint(Observation(verdict=Verdict.FAIL, origin=Origin.TESTS))
    with pytest.raises(ValidationError, match="not from a constructor"):
        Signal(**signal.model_dump())


@given(texts)
def test_model_text_never_becomes_a_signal(text: str) -> None:
    with pytest.raises(ValidationError):
        Signal.model_validate_json(text)
    with pytest.raises(ValidationError):
        Signal.model_validate({"verdict": "fail", "evidence": text})


def test_a_reason_goes_with_no_verdict_only() -> None:
    with pytest.raises(ValidationError, match="exactly when the verdict is none"):
        Observation(verdict=Verdict.NONE, origin=Origin.TESTS)
    with pytest.raises(ValidationError, match="exactly when the verdict is none"):
        Observation(verdict=Verdict.FAIL, origin=Origin.TESTS, reason=NoVerdict.SANDBOX)


def test_file_keys_are_private_and_stable(tmp_path: Path) -> None:
    keys = FileKeys(tmp_path / "keys")
    key = keys.create("r")
    assert keys.create("r") == key == FileKeys(tmp_path / "keys").load("r")
    assert len(key) == 32
    assert (tmp_path / "keys" / "r").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    for kept, run in ((FileKeys(tmp_path), "none"), (MemoryKeys(), "other")):
        with pytest.raises(KeyMissing) as caught:
            kept.load(run)
        assert str(caught.value) == (
            f"There is no key for run {run} here, so its signals can't be verified.\n"
            "  Verify it on the machine that ran it, as the same user, or copy the key file from there."
        )


def test_a_key_that_must_not_be_used_is_an_error_with_a_cure(tmp_path: Path) -> None:
    keys = FileKeys(tmp_path)
    for name, content, mode in (("empty", b"", 0o600), ("short", b"1", 0o600), ("open", KEY, 0o640)):
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(mode)
    said = {"empty": f"rm {tmp_path}/empty", "short": "from a copy", "open": f"chmod 600 {tmp_path}/open"}
    for name, cure in said.items():
        for use in (keys.load, keys.create):
            with pytest.raises(SealError) as caught:
                use(name)
            assert not isinstance(caught.value, KeyMissing)
            assert cure in caught.value.do


MAKES = """
import sys
from pathlib import Path
from groundwire.core._seal import FileKeys
keys = FileKeys(Path(sys.argv[1]))
sys.stdin.readline()
print(" ".join(keys.create(f"run-{n}").hex() for n in range(40)))
"""


def test_many_processes_that_make_a_key_at_once_all_get_the_same(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAKES, str(tmp_path / "keys")]
    makers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    for maker in makers:
        assert maker.stdin
        maker.stdin.write("go\n")
        maker.stdin.flush()
    told = [maker.communicate()[0].split() for maker in makers]
    assert [maker.returncode for maker in makers] == [0] * len(makers)
    assert len(told[0]) == 40 and all(each == told[0] for each in told)
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == sorted(f"run-{n}" for n in range(40))


def test_a_worker_seals_under_a_key_of_its_own_that_the_runs_key_vouches_for() -> None:
    run = signer("run-1", KEY).public
    mine = worker_key("run-1", KEY)
    mint = Mint("run-1", mine)
    signal = mint.signal(
        Observation(verdict=Verdict.FAIL, origin=Origin.TESTS),
        episode_id="e",
        trial=1,
        issuer="t",
        candidate_digest="c",
    )
    for key in (KEY, mine, run):
        verify(signal, key)
    MINT.verify(signal)
    assert worker_key("run-1", mine) == mine
    # vouched for by another run's key, or for another run: nobody's
    for other in (worker_key("run-1", b"o" * 32), worker_key("run-2", KEY)):
        forged = Mint("run-1", other).signal(
            Observation(verdict=Verdict.PASS, origin=Origin.TESTS),
            episode_id="e",
            trial=1,
            issuer="t",
            candidate_digest="c",
        )
        with pytest.raises(SealError):
            verify(forged, run)


def test_what_version_0_1_sealed_verifies_with_its_key_and_with_no_public_one() -> None:
    old = Mint("run-1", KEY, shared=True)
    signal = old.signal(
        Observation(verdict=Verdict.FAIL, origin=Origin.TESTS),
        episode_id="e",
        trial=1,
        issuer="t",
        candidate_digest="c",
    )
    assert len(signal.seal) == 64
    verify(signal, KEY)
    MINT.verify(signal)
    with pytest.raises(SealError, match=r"sealed as version 0\.1 did"):
        verify(signal, signer("run-1", KEY).public)
    with pytest.raises(SealError):
        verify(signal, b"x" * 32)


def test_keys_lie_in_the_users_state_folder_unless_told(tmp_path: Path) -> None:
    key = FileKeys().create("r")
    assert (tmp_path / "xdg_state_home" / "groundwire" / "keys" / "r").read_bytes() == key
    assert FileKeys().load("r") == key
    assert FileKeys().create("other") != key


def test_keys_of_memory_are_stable_and_of_full_length() -> None:
    keys = MemoryKeys()
    assert keys.create("r") == keys.create("r") == keys.load("r")
    assert keys.create("other") != keys.load("r")
    assert len(keys.load("r")) == 32


def test_an_unwritable_key_folder_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError) as caught:
        FileKeys(tmp_path / "file" / "keys").create("r")
    assert str(caught.value) == (
        f"The run's key can't be written to {tmp_path}/file/keys: Not a directory.\n"
        "  Make the folder writable, or set XDG_STATE_HOME to one that is, on a disk that has hard links."
    )


def test_a_key_is_made_in_a_folder_that_is_there_or_not(tmp_path: Path) -> None:
    deep = FileKeys(tmp_path / "a" / "b" / "c")
    assert deep.create("one") != deep.create("two")
    assert FileKeys(tmp_path).create("three") == FileKeys(tmp_path).load("three")


def test_what_seals_is_never_copied() -> None:
    for copies in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(
            TypeError, match=r"^what seals is never copied: its key belongs in no state and in no other process$"
        ):
            copies(MINT)


def test_a_secret_is_masked_before_it_is_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a ledger, which may not keep it, would hold a signal whose seal is broken."""
    monkeypatch.setenv("SHOP_API_KEY", "wonderful-secret-91")
    said = Evidence(stdout="key wonderful-secret-91 and sk-proj-Ab3dEf6hIj9kLm2nOp5q", detail="plain")
    signal = mint(Observation(verdict=Verdict.FAIL, origin=Origin.TESTS, evidence=said))
    assert signal.evidence.stdout == "key [masked SHOP_API_KEY] and [masked key]"
    MINT.verify(signal)
    MINT.verify(Signal.from_json(signal.to_json()))


def test_a_signal_that_holds_what_is_no_utf_8_is_held_to_its_seal_too() -> None:
    """A program may print anything."""
    signal = mint(Observation(verdict=Verdict.FAIL, origin=Origin.TESTS, evidence=Evidence(stdout="a\ud800b")))
    MINT.verify(signal)
    changed = signal.model_copy(update={"evidence": Evidence(stdout="a\ud801b")})
    with pytest.raises(SealError):
        MINT.verify(changed)
