"""Each ready-made graph that is grounded once with the real small model; test_untidy_answers.py has all of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from every_graph import EveryGraph, Named, once
from real_model import local_backend

from groundwire import StopReason, Verdict
from groundwire.core._records import Admission, ModelCall
from groundwire.core._signals import Signal
from groundwire.graphs.library._catalogue import NAMES, card
from groundwire.models.local_model import ServerOptions

pytestmark = [pytest.mark.model, pytest.mark.slow]
ONE_SLOT = ServerOptions(slots=1, context_tokens=2048, threads=1)
GROUNDED = [name for name in NAMES if card(name).grounded]
LONGEST = 48
"""Tokens of an answer."""
BROKEN = {StopReason.REFUSED, StopReason.STORAGE_ERROR, StopReason.INTERRUPTED}


@pytest.mark.parametrize("names", [GROUNDED[::2], GROUNDED[1::2]], ids=["one half", "the other"])
async def test_what_a_real_model_answers_is_decided_on_by_what_is_outside_of_it(names: Sequence[str]) -> None:
    async with local_backend(options=ONE_SLOT) as backend:
        # search_judge takes no number, and a small model goes on to the 512 tokens of its default
        every = EveryGraph(Named(backend, backend.model, backend.traits, LONGEST))
        for name in names:
            run = every.run(name)
            result, records = await once(run)
            assert any(isinstance(r, ModelCall) and not r.error for r in records), (name, result.error)
            assert result.stop_reason not in BROKEN, (name, result.detail)
            judged = [r for r in records if isinstance(r, Signal)]
            assert {s.origin for s in judged} <= run.origins, name
            passed = {s.candidate_digest for s in judged if s.verdict is Verdict.PASS}
            assert result.verdict is not Verdict.PASS or passed, name
            opened = {r.signal_id for r in records if isinstance(r, Admission) and r.admitted}
            assert opened <= {s.id for s in judged if s.verdict is not Verdict.PASS}, name
            assert result.grounded, name
    assert not every.thrown, "what was vetoed was not done"
