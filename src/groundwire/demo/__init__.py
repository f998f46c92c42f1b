"""The projects that `groundwire demo` repairs; each with a bug of its own, visible tests, and hidden ones in `checks`."""
