"""Code of ours that runs inside the sandbox, under the project's interpreter.

Standard library only, Python 3.9 or newer, and slow imports (`typing`, `signal`, `json`, `socket`) kept out of the
path of a single command: each costs milliseconds that every cold run would pay. It holds no secret.
"""
