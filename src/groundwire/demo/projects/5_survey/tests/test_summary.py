from survey.answers import tally
from survey.summary import average, most_common


def test_answers_are_counted():
    assert tally([5, 5, 1]) == {1: 1, 2: 0, 3: 0, 4: 0, 5: 2}


def test_invalid_answers_are_left_out():
    assert tally([0, 6, "5", 3]) == {1: 0, 2: 0, 3: 1, 4: 0, 5: 0}


def test_the_average_weighs_each_answer():
    assert average([1, 5, 5, 5]) == 4.0


def test_no_answers_have_no_average():
    assert average([]) is None


def test_the_most_common_answer():
    assert most_common([2, 2, 4]) == 2
