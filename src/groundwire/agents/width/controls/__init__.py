"""Controls: what published loops do without a signal. They are here to be beaten, and a graph with one says so.

Each declares `ActorTraits(grounded=False)`; `FeedbackGraph.compile` refuses it unless `allow_ungrounded=True`, and then
every report of the run says that it is not grounded. They are told nothing of what was judged before.
"""
