"""Figures over a tally."""

from survey.answers import tally


def average(answers):
    """The mean of all valid answers, or None without any."""
    counts = tally(answers)
    given = sum(counts.values())
    if given == 0:
        return None
    return sum(score * times for score, times in counts.items()) / given


def most_common(answers):
    """The answer given most often; ties go to the higher one."""
    counts = tally(answers)
    return max(counts, key=lambda score: (counts[score], score))
