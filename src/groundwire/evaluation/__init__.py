"""What correction bought, with its price and its error bars: metrics over the ledger's trials, and their report.

Nothing that steers a run may import this: what is measured here is for people.
"""

from __future__ import annotations

from importlib.util import find_spec

from groundwire.core._errors import ConfigError

_missing = [name for name in ("numpy", "scipy") if find_spec(name) is None]
if _missing:
    raise ConfigError(f"Metrics need {' and '.join(_missing)}.", do='pip install "groundwire[eval]"')

from groundwire.evaluation._reading import Arm, RunFacts, read_run, trial_rows  # noqa: E402  what it needs is there
from groundwire.evaluation._rows import Sample, Step, TrialRow  # noqa: E402
from groundwire.evaluation._trials import Trials  # noqa: E402

__all__ = ["Arm", "RunFacts", "Sample", "Step", "TrialRow", "Trials", "read_run", "trial_rows"]
