#!/usr/bin/env python3
"""Runs groundwire-audit out of a checkout, with nothing installed: for the pre-commit hook and the GitHub Action."""

import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 # whoever runs a checkout may have any
    sys.exit("groundwire-audit needs Python 3.11 or later; this is " + sys.version.split()[0])
sys.path.insert(0, str(Path(__file__).resolve().parent / "src"))

from groundwire_audit import main  # the path comes first

sys.exit(main())
