"""Totals with discount and tax; money in cents."""

DISCOUNT_FROM = 100_00
DISCOUNT_PERCENT = 10
TAX_PERCENT = 20


def net(lines):
    """The sum of all lines before discount."""
    total = 0
    for line in lines:
        total += line.amount()
    return total


def discount(amount):
    """What is taken off; invoices below DISCOUNT_FROM get nothing."""
    if amount >= DISCOUNT_FROM:
        return amount * DISCOUNT_PERCENT // 100
    return 0


def gross(lines):
    """What has to be paid."""
    base = net(lines)
    reduced = base - discount(base)
    return reduced + base * TAX_PERCENT // 100
