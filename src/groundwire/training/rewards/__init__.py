"""Rewards for trainers: what a policy wrote, judged by the task's own tests in a sandbox. See docs/training.md."""
