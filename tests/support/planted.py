"""Secrets of every shape that is recognised; made of pieces, so that no scanner takes this file for a leak."""

from __future__ import annotations

import hashlib

__all__ = ["IN_ENVIRONMENT", "PLANTED", "SECRETS", "VARIABLE"]


def _made(kind: str, length: int) -> str:
    """Letters and digits, different for each kind."""
    text = "".join(hashlib.sha512(f"{kind} {n}".encode()).hexdigest() for n in range(4))
    mixed = "".join(
        c.upper() if n % 3 == 0 else "gjkmpqtvxz"[int(c)] if c.isdigit() and n % 2 else c for n, c in enumerate(text)
    )
    return f"a7B{mixed}"[:length]


IN_ENVIRONMENT = "correct horse battery"
"""The value of `VARIABLE`; it has no shape of its own."""
VARIABLE = "SHOP_DB_PASSWORD"

SECRETS: dict[str, str] = {
    "OpenAI": "sk-" + "proj-" + _made("OpenAI", 48),
    "Anthropic": "sk-" + "ant-" + _made("Anthropic", 90),
    "Stripe": "sk_" + "live_" + _made("Stripe", 24),
    "AWS": "AKIA" + "ABCDEFGH12345678",
    "GitHub": "ghp_" + _made("GitHub", 36),
    "GitHub, fine-grained": "github_" + "pat_" + _made("fine-grained", 60),
    "GitLab": "glpat-" + _made("GitLab", 20),
    "Slack": "xoxb-" + "123456789012-" + _made("Slack", 24),
    "Google": "AIza" + _made("Google", 35),
    "Hugging Face": "hf_" + _made("Hugging Face", 34),
    "npm": "npm_" + _made("npm", 36),
    "PyPI": "pypi-" + _made("PyPI", 150),
    "Groq": "gsk_" + _made("Groq", 52),
    "xAI": "xai-" + _made("xAI", 80),
    "SendGrid": "SG." + _made("Send", 22) + "." + _made("Grid", 43),
    "DigitalOcean": "dop_v1_" + "0123456789abcdef" * 4,
    "JWT": "eyJ" + _made("head", 30) + ".eyJ" + _made("claims", 90) + "." + _made("signature", 43),
}
"""What must not be found again, by its kind."""

_PRIVATE = "MIIEvQ" + _made("private", 200)
_CUT = "MIIEvQ" + _made("cut", 200)


def _with(kind: str, text: str) -> tuple[str, str]:
    secret = _made(kind, 32)
    return text.format(secret), secret


PLANTED: dict[str, tuple[str, str]] = {
    **{kind: (f"key {secret} end", secret) for kind, secret in SECRETS.items()},
    "URL": _with("URL", "postgresql://ann:{}@db.example/lessons"),
    "bearer": _with("bearer", "Authorization: Bearer {}"),
    "basic": _with("basic", "authorization: basic {}=="),
    "named": _with("named", 'api_key = "{}"'),
    "named in JSON": _with("named in JSON", '{{"client_secret": "{}"}}'),
    "private key": ("-----BEGIN RSA " + f"PRIVATE KEY-----\n{_PRIVATE}\n-----END RSA PRIVATE KEY-----\n", _PRIVATE),
    "private key, cut off": ("-----BEGIN " + f"PRIVATE KEY-----\n{_CUT}\n", _CUT),
    "environment": (f"it is {IN_ENVIRONMENT}!", IN_ENVIRONMENT),
}
"""By its kind: a text with a secret in it, and what of it must not be found again."""
