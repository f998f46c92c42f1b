"""Other frameworks: their tasks as ours, ours as theirs, each in a room of its own."""
