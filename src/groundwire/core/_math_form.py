"""The normal form of answers with mathematical equality beyond it, told by a program of its own (extra `math`)."""

from __future__ import annotations

import importlib.util
import json
import re
import select
import subprocess
import sys
import threading
import weakref
from collections import OrderedDict
from pathlib import Path

from groundwire.core._answers import bare_answer, plain_answer
from groundwire.core._errors import ConfigError
from groundwire.core._normal_forms import is_mathematical
from groundwire.core._prompt_text import printable

PROGRAM = Path(__file__).with_name("math_equality.py")
MOST_CHARS = 300
"""Of an answer that is compared mathematically."""
REMEMBERED = 500
"""Answers that later ones are compared with; forms of which it is known whom they equal are ten times as many."""
START_S = 120.0
_EXACT = re.compile(r"-?\d+(?:\.\d+)?(?:/\d+)?%?")


class MathForm:
    """Brings an answer to the form of the first that it equals: `x^2+2x+1` to `(x+1)^2`, `2\\sqrt{2}` to `\\sqrt{8}`.

    Two answers of one `plain_answer` are equal; of others, those that are mathematics are compared by `math-verify`.
    What it can't read, or not in time, equals nothing but itself. The library runs in a process of its own, held to
    little memory, that is ended when it takes too long; while it is asked, the calling thread waits.

        TextAnswer("answer.txt", normalise=MathForm())

    Args:
        seconds: for one answer, compared with all before it.

    Raises:
        ConfigError: the extra is not installed, or `seconds` is not above 0.
    """

    def __init__(self, *, seconds: float = 5.0) -> None:
        if not seconds > 0:
            raise ConfigError(f"seconds is {seconds}.", do="Use more than 0 seconds.")
        if importlib.util.find_spec("math_verify") is None:
            raise ConfigError(
                "Mathematical equality needs math-verify, which is not installed.",
                do="pip install 'groundwire[math]'; or compare by plain_answer, which needs nothing.",
            )
        self._seconds = seconds
        self._forms: OrderedDict[str, str] = OrderedDict()
        self._known: OrderedDict[str, str] = OrderedDict()
        self._asking = threading.Lock()
        self._program: subprocess.Popen[str] | None = None
        self._ends = weakref.finalize(self, lambda: None)

    def __call__(self, text: str) -> str:
        """The form of an answer; see `plain_answer` for what needs no mathematics."""
        form = plain_answer(text)
        with self._asking:
            if form not in self._forms:
                self._forms[form] = self._form_of_equal(form, bare_answer(printable(text)))
                if len(self._forms) > 10 * REMEMBERED:
                    self._forms.popitem(last=False)
            return self._forms[form]

    def close(self) -> None:
        """Ends the program; another answer starts it again."""
        self._ends()

    def _form_of_equal(self, form: str, bare: str) -> str:
        if not is_mathematical(form) or len(bare) > MOST_CHARS:
            return form
        # numbers are exact already, so that two of them that differ do differ
        is_number = bool(_EXACT.fullmatch(form))
        likely = {known: said for known, said in self._known.items() if _may_equal(form, known, is_number=is_number)}
        place = self._place(bare, list(likely.values())) if likely else -1
        if place is None:
            return form  # it took too long, and would again: nothing is compared with it
        if place >= 0:
            return list(likely)[place]
        self._known[form] = bare
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return form

    def _place(self, said: str, known: list[str]) -> int | None:
        """Which of the known ones it equals, -1 for none; None where the program took too long or died."""
        program = self._running()
        assert program.stdin is not None
        try:
            program.stdin.write(f"{json.dumps({'said': said, 'known': known})}\n")
            program.stdin.flush()
            return int(self._line(program, self._seconds))
        except (OSError, ValueError):
            self.close()
            return None

    def _running(self) -> subprocess.Popen[str]:
        if self._program is not None and self._program.poll() is None:
            return self._program
        self.close()
        pipe = subprocess.PIPE
        # isolated: neither the folder it is run in nor the environment says what is imported
        command = [sys.executable, "-I", "-B", str(PROGRAM)]
        program = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self._program, self._ends = program, weakref.finalize(self, _end, program)
        if self._line(program, START_S) != "ready":
            self.close()
            raise ConfigError(
                "math-verify is installed, and can't be loaded.", do="pip install --force-reinstall 'groundwire[math]'"
            )
        return program

    @staticmethod
    def _line(program: subprocess.Popen[str], seconds: float) -> str:
        assert program.stdout is not None
        return program.stdout.readline().strip() if select.select([program.stdout], [], [], seconds)[0] else ""


def _end(program: subprocess.Popen[str]) -> None:
    program.kill()
    program.communicate()


def _may_equal(form: str, known: str, *, is_number: bool) -> bool:
    """False where the forms say already that the answers differ: two numbers, a pair and an interval."""
    if is_number and _EXACT.fullmatch(known):
        return False
    if "," in form or "," in known:
        return form.count(",") == known.count(",") and (form[0], form[-1]) == (known[0], known[-1])
    return True
