"""Pages of a list."""


def page_count(items, size):
    """Pages needed for all items."""
    if size < 1:
        raise ValueError("a page holds at least one item")
    return (len(items) + size - 1) // size


def page(items, number, size):
    """The items of page `number`, counted from 1."""
    if number < 1:
        raise ValueError("pages are counted from 1")
    start = (number - 1) * size
    return items[start : start + size]
