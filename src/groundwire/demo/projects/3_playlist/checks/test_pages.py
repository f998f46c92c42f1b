import pytest

from playlist.paging import page, page_count
from playlist.songs import Playlist


@pytest.mark.parametrize("count", range(12))
@pytest.mark.parametrize("size", [1, 2, 3, 5, 20])
def test_pages_together_are_the_whole(count, size):
    items = list(range(count))
    pages = Playlist(items).pages(size)
    assert [x for p in pages for x in p] == items
    assert all(1 <= len(p) <= size for p in pages)


def test_wrong_pages_are_refused():
    with pytest.raises(ValueError):
        page([1], 0, 1)
    with pytest.raises(ValueError):
        page_count([1], 0)
