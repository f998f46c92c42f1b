"""Judges loops: what each node asks and writes, what opens each edge, what that makes of each way round."""
