"""A model trained on its own verified work: what is kept of its samples, that none of it is of an eval task, and the
training itself, by TRL in a process of its own. `groundwire improve` puts them together (`groundwire.cli._improve`).
"""
