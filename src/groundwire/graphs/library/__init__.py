"""Ready-made graphs, one module each: a builder that returns a `FeedbackGraph`, and the card that describes it."""
