"""Questions that have one right answer: the key that judges them, and the published sets of them."""
