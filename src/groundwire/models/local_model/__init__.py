"""Models that run on this machine: which files they are, where they lie, how they get there; and `local`'s server."""

from groundwire.models.local_model._files import (
    MINILM,
    MINILM_TOKENIZER,
    MODELS,
    SMOLLM2,
    PinnedModel,
    file_digest,
    find_model,
    models_folder,
    package_folder,
    verify_model,
)
from groundwire.models.local_model._install import Installed, Progress, install_model, remove_model
from groundwire.models.local_model._server import (
    LlamaServer,
    ServerOptions,
    close_servers,
    engine_is_installed,
    server_for,
)

__all__ = [
    "MINILM",
    "MINILM_TOKENIZER",
    "MODELS",
    "SMOLLM2",
    "Installed",
    "LlamaServer",
    "PinnedModel",
    "Progress",
    "ServerOptions",
    "close_servers",
    "engine_is_installed",
    "file_digest",
    "find_model",
    "install_model",
    "models_folder",
    "package_folder",
    "remove_model",
    "server_for",
    "verify_model",
]
