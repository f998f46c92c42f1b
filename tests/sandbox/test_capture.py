"""A drain that was closed never touches its descriptor's number again, whoever has it by then."""

from __future__ import annotations

import asyncio
import os

from groundwire.sandbox._capture import Drain
from groundwire.sandbox.guest.headtail import HeadTail


async def test_a_closed_drain_does_not_read_what_reuses_its_number() -> None:
    kept = HeadTail(100)
    reading, writing = os.pipe()
    os.write(writing, b"old")
    drain = Drain(reading, kept)
    await asyncio.sleep(0)  # its callback may be due already
    drain.close()
    os.close(reading)
    os.close(writing)
    again, other = os.pipe()  # blocking, and most likely of the same number
    os.write(other, b"new")
    for _ in range(3):
        await asyncio.sleep(0)
    assert kept.kept in (b"", b"old")
    assert os.read(again, 10) == b"new"
    os.close(again)
    os.close(other)


async def test_closing_one_drain_leaves_the_next_of_the_same_number_alone() -> None:
    reading, writing = os.pipe()
    first = Drain(reading, HeadTail(100))
    first.close()
    kept = HeadTail(100)
    second = Drain(reading, kept)
    first.close()
    os.write(writing, b"text")
    os.close(writing)
    await asyncio.wait_for(second.ended, 5)
    assert kept.kept == b"text"
    os.close(reading)
