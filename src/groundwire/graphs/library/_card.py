"""What a person reads before choosing a ready-made graph."""

from __future__ import annotations

from dataclasses import dataclass

from groundwire.core._signals import Origin


@dataclass(frozen=True)
class GraphCard:
    """One ready-made graph, as `groundwire graphs` lists it.

    Args:
        name: the builder's name; also its module's and its page's in `docs/graphs/`.
        does: one line, what goes in and what comes out.
        sources: the published methods that it follows, `name (arXiv id)`.
        origins: where a signal must come from to steer it; empty for a control, which nothing outside steers.
        cost: its cost's shape in model calls or environment steps, `1 + trials × (width + 1)`.
        use: when it is worth its price.
        avoid: when it is not, with the evidence.
        grounded: False for a control, which is built with `allow_ungrounded=True` only.
    """

    name: str
    does: str
    sources: tuple[str, ...]
    origins: tuple[Origin, ...]
    cost: str
    use: str
    avoid: str
    grounded: bool = True
