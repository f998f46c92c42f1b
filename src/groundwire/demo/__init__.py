"""The projects that `groundwire demo` repairs: each with its own bug, visible tests, and hidden ones in `checks`."""
