"""Data with known properties: image walks, characters, mixtures, spikes, autoregressions."""

from eigenstream.processes._drawing import Style
from eigenstream.processes.autoregressive import Autoregressive
from eigenstream.processes.base import Process
from eigenstream.processes.characters import characters, digit_set, letter_set
from eigenstream.processes.gaussian import GaussianMixture, SpikedGaussian
from eigenstream.processes.heat_exchanger import HeatExchanger
from eigenstream.processes.images import page_image
from eigenstream.processes.walk import ImageViews, ImageWalk, ViewStates

__all__ = [
    "Autoregressive",
    "GaussianMixture",
    "HeatExchanger",
    "ImageViews",
    "ImageWalk",
    "Process",
    "SpikedGaussian",
    "Style",
    "ViewStates",
    "characters",
    "digit_set",
    "letter_set",
    "page_image",
]
