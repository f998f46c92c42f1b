"""The alarm that ends a case, rung for real in this process."""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.tools.inside.recorder import FRAMES_KEPT, Alarm, CaseTimeout, leave_out_middle

LONG = 600.0


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    numbers = (signal.SIGALRM, signal.SIGPROF)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def compute(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_processor_time_ends_a_case_and_halves_once(tmp_path: Path) -> None:
    alarm = Alarm(LONG, 0.2, str(tmp_path / "stack"))
    for allowed in ("0.2", "0.1", "0.1"):
        alarm.set(case=True)
        alarm.enter()
        with pytest.raises(CaseTimeout, match=f"^did not finish within {allowed} s of processor time$"):
            compute(5)
        alarm.leave()
        assert alarm.clear(), "it rang"
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL


def test_waiting_is_not_computing(tmp_path: Path) -> None:
    alarm = Alarm(LONG, 0.1, str(tmp_path / "stack"))
    alarm.set(case=True)
    alarm.enter()
    time.sleep(0.3)
    alarm.leave()
    assert not alarm.clear()


def test_what_happens_around_cases_is_not_counted(tmp_path: Path) -> None:
    alarm = Alarm(LONG, 0.05, str(tmp_path / "stack"))
    alarm.set()
    alarm.enter()
    compute(0.2)
    alarm.leave()
    assert not alarm.clear()


def test_the_runners_own_code_is_not_interrupted(tmp_path: Path) -> None:
    alarm = Alarm(LONG, 0.05, str(tmp_path / "stack"))
    alarm.set(case=True)
    compute(0.2)
    assert not alarm.clear()


def test_the_wall_clock_rings_too(tmp_path: Path) -> None:
    alarm = Alarm(0.1, 0.0, str(tmp_path / "stack"))
    alarm.set(case=True)
    alarm.enter()
    with pytest.raises(CaseTimeout, match=r"^did not finish within 0\.1 s$"):
        time.sleep(60)
    alarm.leave()
    assert alarm.clear()
    assert "compute" not in (tmp_path / "stack").read_text()
    assert "test_the_wall_clock_rings_too" in (tmp_path / "stack").read_text()


def test_the_middle_of_an_endless_recursion_is_left_out() -> None:
    def deeper(n: int) -> int:
        return deeper(n + 1) if n < 500 else 1 // 0

    with pytest.raises(ZeroDivisionError) as caught:
        deeper(0)
    leave_out_middle(caught.value.__traceback__)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert len(frames) == 2 * FRAMES_KEPT + 1
    assert (frames[0].name, frames[-1].name) == ("test_the_middle_of_an_endless_recursion_is_left_out", "deeper")
    leave_out_middle(None)
