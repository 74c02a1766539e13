"""How fast a process forgets: profiles, exact coefficients, estimates."""

from eigenstream.theory.base import Maximum, MixingProfile, Sum
from eigenstream.theory.mixing.chains import (
    AutoregressiveMixing,
    MarkovMixing,
    autoregressive_mixing,
    markov_mixing,
)
from eigenstream.theory.mixing.estimated import EstimatedMixing, estimate_mixing
from eigenstream.theory.mixing.profiles import (
    Algebraic,
    FiniteMemory,
    Geometric,
    Independent,
    Table,
    from_text,
)

__all__ = [
    "Algebraic",
    "AutoregressiveMixing",
    "EstimatedMixing",
    "FiniteMemory",
    "Geometric",
    "Independent",
    "MarkovMixing",
    "Maximum",
    "MixingProfile",
    "Sum",
    "Table",
    "autoregressive_mixing",
    "estimate_mixing",
    "from_text",
    "markov_mixing",
]
