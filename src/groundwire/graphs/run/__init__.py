"""What happens while an episode runs: nodes, calls, budgets, the gate, the verdict, and the answer."""
