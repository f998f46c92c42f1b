"""What a server for this machine alone needs: where it listens, and what whoever asks has to know."""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Mapping

from groundwire.core._errors import ConfigError

HOST = "127.0.0.1"
TOKEN_CHARS = 16
"""The least that a token of the user's own has."""


def listener_on(port: int) -> socket.socket:
    """A socket that listens on this machine alone.

    Raises:
        ConfigError: the port is taken.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()  # whoever reads the address may ask at once
    except OSError as error:
        listener.close()
        why = "another program has it" if error.errno == errno.EADDRINUSE else error.strerror
        raise ConfigError(
            f"Port {port} can't be used: {why}.", do="Leave --port out, and a free one is taken."
        ) from None
    return listener


def token_of(variables: Mapping[str, str], name: str) -> str:
    """The user's own token, or a new one.

    Args:
        variables: the environment.
        name: the variable that may hold it.

    Raises:
        ConfigError: it is too short to be one.
    """
    own = variables.get(name, "")
    if own and len(own) < TOKEN_CHARS:
        raise ConfigError(f"{name} has fewer than {TOKEN_CHARS} characters.", do="Leave it out, and one is made.")
    return own or secrets.token_urlsafe(32)
