"""Songs in the order they were added."""

from playlist.paging import page, page_count


class Playlist:
    def __init__(self, songs=()):
        self.songs = list(songs)

    def add(self, song):
        if song not in self.songs:
            self.songs.append(song)

    def pages(self, size):
        return [page(self.songs, n, size) for n in range(1, page_count(self.songs, size))]
