from survey.answers import tally
from survey.summary import average, most_common


def test_many_answers():
    answers = [1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5]
    assert tally(answers) == {n: n for n in range(1, 6)}
    assert most_common(answers) == 5
    assert abs(average(answers) - 55 / 15) < 1e-9


def test_ties_go_up():
    assert most_common([1, 1, 3, 3]) == 3
