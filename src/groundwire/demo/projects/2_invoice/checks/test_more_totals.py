from invoice import totals
from invoice.lines import Line


def test_the_threshold_itself_is_large():
    assert totals.discount(100_00) == 10_00
    assert totals.discount(99_99) == 0


def test_no_lines_cost_nothing():
    assert totals.gross([]) == 0


def test_a_discount_of_nothing_takes_nothing(monkeypatch):
    monkeypatch.setattr(totals, "DISCOUNT_PERCENT", 0)
    assert totals.gross([Line("desk", 1, 100_00)]) == 120_00
