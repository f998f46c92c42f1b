"""Invoice lines; money in cents."""


class Line:
    def __init__(self, text, quantity, unit_price):
        self.text = text
        self.quantity = quantity
        self.unit_price = unit_price

    def amount(self):
        return self.quantity * self.unit_price
