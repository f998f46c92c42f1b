"""Answers to one question."""


def valid(answer):
    return isinstance(answer, int) and 1 <= answer <= 5


def tally(answers):
    """How often each answer from 1 to 5 was given."""
    counts = {score: 0 for score in range(1, 6)}
    for answer in answers:
        if valid(answer):
            counts[answer] = 1
    return counts
