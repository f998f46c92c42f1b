"""Exports of published methods, one module each; its name is the form's. See `groundwire.training`."""
