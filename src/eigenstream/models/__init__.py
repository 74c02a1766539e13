"""Model files: what has been learned, saved to go on elsewhere; arrays and JSON, never a pickle."""

from eigenstream.models._reading import describe, load
from eigenstream.models._writing import save
from eigenstream.models.base import ModelError
from eigenstream.models.checkpoints import Checkpoint, Interrupted
from eigenstream.models.exports import export

__all__ = ["Checkpoint", "Interrupted", "ModelError", "describe", "export", "load", "save"]
