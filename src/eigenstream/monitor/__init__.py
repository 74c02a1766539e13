"""A monitor that compares the windows of a stream with those of a reference."""

from eigenstream.monitor.monitor import Monitor
from eigenstream.monitor.records import Contribution, WindowRecord

__all__ = ["Contribution", "Monitor", "WindowRecord"]
