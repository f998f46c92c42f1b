"""What a coding agent calls: an MCP server, and hooks that let its session end only on a sealed PASS."""
