"""Actors that are programs: other agents' command lines, scripts, and programs that were recorded."""
