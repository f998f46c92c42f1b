"""Runs pytest with our report plugin, as the console script or `python -m pytest` would."""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.fixed_files import FixedFiles
    from groundwire.tools.inside.lines import Lines
    from groundwire.tools.inside.recorder import Recorder, controls_of, crossing_of, read_settings
else:
    from _gw_fixed_files import FixedFiles
    from _gw_lines import Lines
    from _gw_recorder import Recorder, controls_of, crossing_of, read_settings

OLDEST = (7, 0)


def _missing(_arguments: list[str]) -> int:
    return 127


def prepare() -> Any:
    """Imports pytest before any code of the project can be imported.

    Returns:
        What runs the arguments and returns the exit status.
    """
    recorder = Recorder()
    settings = read_settings()
    try:
        import pytest
    except ImportError as error:
        recorder.emit("missing", what="pytest", m=str(error))
        return _missing
    version = getattr(pytest, "version_tuple", (0,))
    if tuple(version[:2]) < OLDEST:
        recorder.emit("missing", what="pytest", m=f"pytest {pytest.__version__} is older than 7.0")
        return _missing
    if TYPE_CHECKING:
        from groundwire.tools.inside.pytest_plugin import Plugin
    else:
        from _gw_pytest_plugin import Plugin

    lines = Lines(recorder, settings["lines"]) if settings["lines"] is not None else None
    controls = controls_of(recorder)
    if controls is not None:
        controls.install_pytest()
    crossing = crossing_of(settings, recorder, controls)
    fixed_files = FixedFiles(recorder, settings["fixed_files"])
    plugin = Plugin(
        recorder,
        lines,
        set(settings["declared"]),
        fixed_files,
        crossing,
        settings["first"],
        controls,
        steered=settings["steered"],
    )

    def run(arguments: list[str]) -> int:
        sys.argv[0] = "pytest"
        if crossing is not None:
            crossing.start()
        if controls is not None:
            controls.install()
        if lines is not None:
            lines.start()
        status = int(pytest.main(arguments, plugins=[plugin]))
        if recorder.waits:  # it never came to the project's code; who waited begins by itself
            return status
        if status == pytest.ExitCode.USAGE_ERROR:
            recorder.emit("usage")
        recorder.look_for_copies(settings["own"])
        recorder.emit("exit", status=status)
        return status

    return run
