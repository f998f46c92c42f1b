"""A model server as a process of ours: started, watched, started again, and ended with all that it started."""

from groundwire.models.model_server._supervisor import Restarts, Running, ServerProcess, Supervisor, in_thread

__all__ = ["Restarts", "Running", "ServerProcess", "Supervisor", "in_thread"]
