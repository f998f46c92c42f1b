"""What one node of a graph asks, reads and writes, and where it may jump."""
