"""What correction bought, with its price and its error bars: metrics over the ledger's trials, and their report.

Nothing that steers a run may import this: what is measured here is for people.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from groundwire.core._errors import ConfigError
from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.evaluation._allowances import Allowance
    from groundwire.evaluation._comparing import Comparison, compare, paired_interval, sign_test
    from groundwire.evaluation._confidence import calibration, instability, trace_confidence
    from groundwire.evaluation._measuring import Measured, measure
    from groundwire.evaluation._process import wandering
    from groundwire.evaluation._rates import Rate
    from groundwire.evaluation._reading import Arm, RunFacts, read_run, trial_rows
    from groundwire.evaluation._reasoning import early_stop, reflecting, step_uses, switches, underthinking
    from groundwire.evaluation._rows import Floats, JudgedSample, Labels, Ragged, TrialRow, TrialStep
    from groundwire.evaluation._signal_quality import Confusion, confusion, localised
    from groundwire.evaluation._trials import Episodes, Trials
    from groundwire.evaluation._verdicts import Report, report_on
    from groundwire.evaluation._width import width
    from groundwire.evaluation._wording import CodeHint, code_hints, self_report

_missing = [name for name in ("numpy", "scipy") if find_spec(name) is None]
if _missing:
    raise ConfigError(f"Metrics need {' and '.join(_missing)}.", do='pip install "groundwire[eval]"')

__all__ = [
    "Allowance",
    "Arm",
    "CodeHint",
    "Comparison",
    "Confusion",
    "Episodes",
    "Floats",
    "JudgedSample",
    "Labels",
    "Measured",
    "Ragged",
    "Rate",
    "Report",
    "RunFacts",
    "TrialRow",
    "TrialStep",
    "Trials",
    "calibration",
    "code_hints",
    "compare",
    "confusion",
    "early_stop",
    "instability",
    "localised",
    "measure",
    "paired_interval",
    "read_run",
    "reflecting",
    "report_on",
    "self_report",
    "sign_test",
    "step_uses",
    "switches",
    "trace_confidence",
    "trial_rows",
    "underthinking",
    "wandering",
    "width",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "Allowance": "_allowances",
        "Arm": "_reading",
        "CodeHint": "_wording",
        "Comparison": "_comparing",
        "Confusion": "_signal_quality",
        "Episodes": "_trials",
        "Floats": "_rows",
        "Labels": "_rows",
        "Measured": "_measuring",
        "Ragged": "_rows",
        "Rate": "_rates",
        "Report": "_verdicts",
        "RunFacts": "_reading",
        "JudgedSample": "_rows",
        "TrialStep": "_rows",
        "TrialRow": "_rows",
        "Trials": "_trials",
        "calibration": "_confidence",
        "code_hints": "_wording",
        "compare": "_comparing",
        "early_stop": "_reasoning",
        "confusion": "_signal_quality",
        "instability": "_confidence",
        "localised": "_signal_quality",
        "measure": "_measuring",
        "paired_interval": "_comparing",
        "read_run": "_reading",
        "reflecting": "_reasoning",
        "report_on": "_verdicts",
        "self_report": "_wording",
        "sign_test": "_comparing",
        "step_uses": "_reasoning",
        "switches": "_reasoning",
        "trace_confidence": "_confidence",
        "trial_rows": "_reading",
        "underthinking": "_reasoning",
        "wandering": "_process",
        "width": "_width",
    },
)
