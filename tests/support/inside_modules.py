"""Makes the modules that run in the sandbox importable here: there they know each other by other names."""

from __future__ import annotations

import importlib
import sys

for _name in (
    "crossing_codec", "crossing_files", "crossing_wire", "crossing_classes", "crossing_instances", "crossing_modules",
    "crossing_stubs", "crossing_lending", "crossing_world", "crossing_given", "crossing_guard", "crossing_programs",
    "crossing",
):  # fmt: skip
    sys.modules[f"_gw_{_name}"] = importlib.import_module(f"groundwire.tools.inside.{_name}")
