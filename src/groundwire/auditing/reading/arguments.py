"""The arguments of a call."""

from __future__ import annotations

from dataclasses import dataclass, field

from groundwire.auditing.reading.merging import deep
from groundwire.auditing.taints import Taints, join
from groundwire.auditing.values import Value

__all__ = ["Arguments"]


@dataclass
class Arguments:
    """Positional and named ones. `more`: what was spread into the call and can't be told apart."""

    positional: list[Value] = field(default_factory=list[Value])
    named: dict[str, Value] = field(default_factory=dict[str, Value])
    more: Value | None = None

    def get(self, index: int, *names: str) -> Value | None:
        """One argument, by place or by any of its names."""
        for name in names:
            if name in self.named:
                return self.named[name]
        return self.positional[index] if 0 <= index < len(self.positional) else None

    def all(self) -> list[Value]:
        """Each of them."""
        return [*self.positional, *self.named.values(), *([self.more] if self.more else [])]

    def taints(self) -> Taints:
        """All that they rest on."""
        return join(deep(v) for v in self.all())

    def after(self, first: Value) -> Arguments:
        """The same with one more in front."""
        return Arguments([first, *self.positional], self.named, self.more)
