"""Rows that solve and rows that refine, half each."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

from made_rows import made
from recorded_runs import ledger_at, question, read, repairing, run, saying

from groundwire.agents.prompting._templates import load_prompt
from groundwire.training._exporting import Rules, export
from groundwire.training._leaks import Leaks
from groundwire.training._schema import Options
from groundwire.training._writing import opened
from groundwire.training.methods import _hybrid_refining as hybrid_refining
from groundwire.training.methods._hybrid_refining import HybridRow, orders


def candidate_of(text: str) -> str:
    return saying(text).strip()


async def test_half_of_either_kind_with_candidates_in_ever_other_orders(tmp_path: Path) -> None:
    wrong = [saying(text, "hm") for text in ("41", "<b>40</b>", "7", "8")]
    async with aclosing(ledger_at(tmp_path)) as store:
        small = await run(store, repairing(wrong, name="small", samples=4), question(), trials=1)
        teacher = [saying("42", f"way {number}") for number in range(8)]
        large = await run(store, repairing(teacher, name="large"), *[question()] * 8, trials=1)
    told = await read(tmp_path, small, large)
    rows, reasons = made("hybrid_refining", told, HybridRow, target="small")
    direct = [row for row in rows if row.kind == "direct"]
    refine = [row for row in rows if row.kind == "refine"]
    assert len(direct) == len(refine) == 8 and not reasons
    assert all(row.provenance.model == "large" and row.provenance.off_policy for row in rows)
    assert len({row.order for row in refine}) == 8, "each copy has its own order"
    assert [row.completion for row in direct] == [row.completion for row in refine]
    asked, shown = direct[0].prompt[-1].content, refine[0].prompt[-1].content
    assert shown.startswith(asked) and 'candidate number="4"' in shown and "<think>" not in shown
    assert "&lt;b&gt;40" in shown and all(row.right == 0 for row in refine)
    drafts = [candidate_of(text) for text in ("41", "&lt;b&gt;40&lt;/b&gt;", "7", "8")]
    in_order = "\n\n".join(
        f'<candidate number="{number}">\n{drafts[place]}\n</candidate>'
        for number, place in enumerate(refine[0].order, 1)
    )
    as_the_graph_asks = load_prompt("synthesise_v1").messages(candidates=in_order)[-1].content
    assert shown == f"{asked}\n\n{as_the_graph_asks}"
    inside = [part for part in refine[0].provenance.origins if part.what == "candidate"]
    assert {part.origin.value for part in inside} == {"model"}
    assert sum("41\n" in shown[part.start : part.end] for part in inside) == 1
    again, _ = made("hybrid_refining", told, HybridRow, target="small")
    assert again == rows, "the same runs give the same rows"


async def test_one_models_own_answers_and_a_candidate_may_hold_the_answer(tmp_path: Path) -> None:
    answers = [saying(text) for text in ("41", "40", "42")] + [saying(text) for text in ("6", "7", "8", "42")]
    async with aclosing(ledger_at(tmp_path)) as store:
        record = await run(store, repairing(answers[:3], samples=3), question(), trials=1)
        none = await run(store, repairing(answers[3:6], samples=3), question("other"), trials=1)
        alone = await run(store, repairing(answers[6:]), question("alone"), trials=1)
    told = await read(tmp_path, record, none, alone)
    rows, reasons = made("hybrid_refining", told, HybridRow)
    assert [(row.kind, len(row.order)) for row in rows] == [("direct", 0), ("refine", 2)]
    assert reasons == ["no_right_answer", "too_few_candidates"], "what is learned is no candidate itself"
    leaks = Leaks(gold={"sum": ["41"]})
    with opened(tmp_path / "rows.jsonl", hybrid_refining.FORM) as sink:
        report = export(hybrid_refining.FORM, told, sink, options=Options(), rules=Rules(leaks=leaks))
    assert report.rows == 2, "that a candidate holds the answer is no leak: the model wrote it"


async def test_a_long_candidate_is_cut_and_can_not_close_its_tag(tmp_path: Path) -> None:
    long = "x" * 20_000 + "</candidate>"
    async with aclosing(ledger_at(tmp_path)) as store:
        graph = repairing([saying(long), saying("41"), saying("42")], samples=3)
        record = await run(store, graph, question(), trials=1)
    rows, _ = made("hybrid_refining", await read(tmp_path, record), HybridRow)
    shown = rows[1].prompt[-1].content
    assert "characters left out" in shown and len(shown) < 12_000 and shown.count("</candidate>") == 2


def test_no_order_comes_again_before_all_have() -> None:
    drawn = orders(3, "seed")
    assert len({next(drawn) for _ in range(6)}) == 6 and len({next(drawn) for _ in range(6)}) == 6
    assert next(orders(1, "x")) == (0,)
