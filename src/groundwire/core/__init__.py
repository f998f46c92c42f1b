"""The contracts that all parts share: candidates, signals and their seal, tasks, records, Protocols, errors."""
