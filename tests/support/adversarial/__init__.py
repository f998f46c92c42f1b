"""Two corpora that judges are measured with: programs that solve nothing and want to pass, and solutions that are right.

`corpus` combines and samples them; `bench/bench_judges.py` runs all of both, `tests/tools/test_judges.py` a sample.
"""
