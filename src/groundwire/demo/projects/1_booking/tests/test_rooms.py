from booking import Interval, Room


def test_a_free_room_is_booked():
    assert Room("blue").book(Interval(540, 600))


def test_an_overlap_is_refused():
    room = Room("blue")
    room.book(Interval(540, 600))
    assert not room.book(Interval(570, 630))


def test_back_to_back_is_no_overlap():
    room = Room("blue")
    room.book(Interval(600, 660))
    assert room.book(Interval(540, 600))
    assert room.book(Interval(660, 720))


def test_minutes_add_up():
    room = Room("blue")
    room.book(Interval(540, 600))
    room.book(Interval(700, 730))
    assert room.booked_minutes() == 90
