from invoice.lines import Line
from invoice.totals import discount, gross, net

SMALL = [Line("pencil", 4, 50)]
LARGE = [Line("desk", 1, 150_00), Line("lamp", 2, 25_00)]


def test_net_is_the_sum_of_lines():
    assert net(SMALL) == 200
    assert net(LARGE) == 200_00


def test_small_invoices_have_no_discount():
    assert discount(200) == 0
    assert gross(SMALL) == 240


def test_large_invoices_have_ten_percent_off():
    assert discount(200_00) == 20_00
    assert gross(LARGE) == 216_00
