"""Verified experience that others can train on."""
