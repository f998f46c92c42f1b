"""Whole episodes: everything that the other forms are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundwire.training._provenance import parts_of_prompt, provenance_of, written_by
from groundwire.training._schema import Form, Options, Part, Rejected, Row
from groundwire.training._trajectories import Author, Trajectory


class TrajectoryRow(Row):
    """One episode."""

    group: str
    """Episodes of one group answered the same question."""
    reward: float | None
    """1.0 or 0.0, by executed checks alone."""
    first_error: int | None
    """Index of the first attempt that an executed check failed; the baseline is not counted."""
    stop_reason: str
    """Why the episode ended."""
    trajectory: Trajectory
    """All of it."""

    def shown(self) -> Iterator[tuple[str, str]]:
        """See `Row`: what was asked and what critics said."""
        for number, turn in enumerate(self.trajectory.turns):
            for index, message in enumerate(turn.prompt):
                yield f"turn[{number}].prompt[{index}]", message.content
        for remark in self.trajectory.remarks:
            yield "remark", remark.text


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row an episode, failed ones too."""
    for trajectory in trajectories:
        if options.keep_failed is False and trajectory.reward != 1.0:
            yield Rejected("failed", trajectory.episode)
            continue
        turns = [turn for turn in trajectory.turns if turn.loss]
        parts: list[Part] = []
        for number, turn in enumerate(trajectory.turns):
            column = f"turn[{number}]"
            parts += parts_of_prompt(turn.prompt, f"{column}.prompt")
            parts.append(written_by(Author.MODEL, f"{column}.text", turn.text, turn.part))
        yield TrajectoryRow(
            provenance=provenance_of([(trajectory, list(trajectory.attempts))], parts, options, turns=turns),
            group=trajectory.group,
            reward=trajectory.reward,
            first_error=trajectory.first_error,
            stop_reason=trajectory.stop_reason or "",
            trajectory=trajectory,
        )


FORM = Form(
    name="trajectory",
    row=TrajectoryRow,
    make=rows,
    about="Whole episodes: all that other forms are made of.",
    repeats=True,
)
