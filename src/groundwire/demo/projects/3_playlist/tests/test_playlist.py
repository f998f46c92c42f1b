from playlist.songs import Playlist


def test_a_song_is_added_once():
    songs = Playlist(["a"])
    songs.add("a")
    songs.add("b")
    assert songs.songs == ["a", "b"]


def test_pages_hold_every_song():
    assert Playlist("abcdef").pages(2) == [["a", "b"], ["c", "d"], ["e", "f"]]


def test_the_last_page_may_be_short():
    assert Playlist("abcdefg").pages(3) == [["a", "b", "c"], ["d", "e", "f"], ["g"]]


def test_an_empty_playlist_has_no_pages():
    assert Playlist().pages(3) == []
