"""Reads Python files and notebooks without importing them."""
