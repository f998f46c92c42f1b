"""Actors that change files by a language model or by rule, and critics of what failed."""
