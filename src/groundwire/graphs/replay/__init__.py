"""An episode once more from its ledger, and the ledger as a cache."""
