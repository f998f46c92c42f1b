"""Lessons for people and for scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundwire.cli.text import plain, plural, visible
from groundwire.memory.lessons import LessonInfo, LessonView

__all__ = ["as_data", "in_bytes", "print_json", "print_lessons", "print_line", "print_stats", "print_view", "say"]

ID_CHARS = 13


def as_data(info: LessonInfo) -> dict[str, Any]:
    standing = info.standing
    low, high = standing.interval
    return {
        **asdict(info.reflection),
        "state": info.state.value,
        "root": info.root,
        "trials": standing.trials,
        "passed": standing.passed,
        "expected": round(standing.expected, 3),
        "effect": round(standing.effect, 3),
        "interval": [round(low, 3), round(high, 3)],
    }


def print_json(value: object) -> None:
    json.dump(value, sys.stdout, indent=2, default=str)
    sys.stdout.write("\n")


def say(data: Mapping[str, Any], text: str, *, as_json: bool) -> int:
    if as_json:
        print_json(data)
    else:
        print_line(text)
    return 0


def print_line(text: str, style: str = "") -> None:
    Console(highlight=False).print(Text(text, style=style), soft_wrap=True)


def print_lessons(found: Sequence[LessonInfo], *, as_json: bool, empty: str) -> int:
    if as_json:
        print_json([as_data(info) for info in found])
        return 0
    if not found:
        print_line(empty)
        return 0
    table = Table("lesson", "task", "state", "worth", box=None, header_style="bold")
    table.add_column("text", no_wrap=True, overflow="ellipsis")
    for info in found:
        reflection = info.reflection
        worth = f"{info.standing.effect:+.2f} of {info.standing.trials}" if info.standing.trials else ""
        cells = (reflection.id[:ID_CHARS], plain(reflection.task_id, limit=30), info.state.value, worth)
        table.add_row(*map(Text, cells), Text(plain(reflection.text, limit=160)))
    Console(highlight=False).print(table)
    return 0


def print_view(view: LessonView) -> None:
    info, reflection = view.info, view.info.reflection
    print_line(f"lesson {reflection.id}   {info.state.value}   {reflection.created_at[:19]}", "bold")
    print_line(f"task {plain(reflection.task_id)}   family {plain(reflection.family) or '-'}")
    print_line(f"by {plain(reflection.by) or '-'}   about a candidate of {plain(reflection.model) or 'no model'}")
    if reflection.signature:
        print_line(f"failed with  {plain(reflection.signature)}")
    print_line(visible(reflection.text))
    if reflection.raw:
        print_line(f"said by a person: {visible(reflection.raw)}")
    signal = view.signal
    if signal is None:
        print_line(f"signal {reflection.signal_id} is not in this ledger", "yellow")
    else:
        print_line(f"signal {signal.id}   {signal.verdict} by {signal.origin}   {plain(signal.evidence.detail)}")
    if info.root != reflection.id:
        print_line(f"says what {info.root} says")
    elif view.same:
        print_line(f"said again by {', '.join(view.same)}")
    print_line(f"worth: {info.standing}")
    for recalled in view.recalled:
        outcome = recalled.verdict or "open"
        place = f"{recalled.created_at[:19]}  episode {recalled.episode_id} trial {recalled.trial}"
        print_line(f"  {place}  {outcome}  {plain(recalled.why)}")
    for mark in view.marks:
        print_line(f"  {mark.created_at[:19]}  {mark.mark.value} by {plain(mark.by) or '-'}  {plain(mark.reason)}")


def print_stats(data: Mapping[str, Any]) -> None:
    print_line(f"{data['ledger']}   {in_bytes(data['bytes'])}, {sum(data['rows'].values())} rows", "bold")
    states = ", ".join(f"{count} {state}" for state, count in data["states"].items())
    print_line(f"lessons: {states or 'none'}")
    for scope, title in (("all", "all"), ("family", "family"), ("task", "task")):
        for rate in data["rates"][scope][:10]:
            name = plain(rate["key"], limit=40) or "-"
            print_line(f"  {title:<7}{name:<42}{rate['passed']} of {plural(rate['trials'], 'trial')} passed")
    measured = data["measured"]
    shown = measured if len(measured) <= 10 else [*measured[:5], *measured[-5:]]
    for lesson in shown:
        worth = f"{lesson['effect']:+.2f} of {lesson['trials']}"
        print_line(f"  {lesson['id'][:ID_CHARS]}  {worth:<14}{lesson['state']:<13}{plain(lesson['text'], limit=90)}")


def in_bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"
