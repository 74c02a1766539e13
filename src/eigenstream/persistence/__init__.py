"""Model files: estimators and checkpoints saved as arrays behind a JSON header, never a pickle."""

from eigenstream.persistence.checkpoints import Checkpoint, Interrupted
from eigenstream.persistence.exports import export
from eigenstream.persistence.model_file import ModelError, describe, load, save

__all__ = ["Checkpoint", "Interrupted", "ModelError", "describe", "export", "load", "save"]
