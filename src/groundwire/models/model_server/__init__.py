"""A model server as a process of ours: started, watched, started again, and ended with all that it started."""

from groundwire.models.model_server.process import ServerProcess
from groundwire.models.model_server.supervisor import Restarts, Running, Supervisor

__all__ = ["Restarts", "Running", "ServerProcess", "Supervisor"]
