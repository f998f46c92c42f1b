"""Actors that go wide: several answers to one question, made into one inside a single proposal.

Their rounds are fixed when the actor is made, so that nothing in here is a loop that a signal would have to open; what
they come to is judged from outside like any other candidate.
"""
