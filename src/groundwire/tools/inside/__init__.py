"""Files that run inside the sandbox, under the project's own Python (3.9 or later), with the standard library only.

They are delivered as `_gw_NAME.py` (see `groundwire.tools._python_runner`) and import each other under those names;
nothing here may be imported by the rest of groundwire. They run in one process with the code that is judged, so what
they report is tamper-evident, not unforgeable.
"""
