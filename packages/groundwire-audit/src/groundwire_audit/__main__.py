"""`python -m groundwire_audit`."""

from __future__ import annotations

import sys

from groundwire_audit._command import main

if __name__ == "__main__":
    sys.exit(main())
