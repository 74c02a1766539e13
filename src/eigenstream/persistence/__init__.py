"""Model files of estimators and checkpoints, as arrays with a JSON header and without pickle."""

from eigenstream.persistence.checkpoints import Checkpoint, Interrupted
from eigenstream.persistence.exports import export
from eigenstream.persistence.model_file import ModelError, describe, load, save

__all__ = ["Checkpoint", "Interrupted", "ModelError", "describe", "export", "load", "save"]
