"""Makes the modules that run in the sandbox importable here: there they know each other by other names."""

from __future__ import annotations

import importlib
import sys

for _name in ("apart_codec", "apart_wire", "apart_stubs", "apart_world", "apart"):
    sys.modules[f"_gw_{_name}"] = importlib.import_module(f"groundwire.tools.inside.{_name}")
