"""Reports in the forms of others: SARIF, Mermaid, SVG."""
