"""Actors that work step by step: tool calls, steps that are checked, and beams of them."""
