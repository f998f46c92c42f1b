"""What well-known libraries do when they are called: facts, kept apart from the rules that use them."""
