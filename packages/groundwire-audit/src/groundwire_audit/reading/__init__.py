"""Follows Python source without running it: what a function asks, what its results rest on, when it gets where."""
