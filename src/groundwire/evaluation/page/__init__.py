"""The report as one HTML page that needs nothing from elsewhere."""

from __future__ import annotations

from groundwire.evaluation.page._page import render_page

__all__ = ["render_page"]
