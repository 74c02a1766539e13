"""What the theory says, as plain functions of plain numbers.

``mixing`` says how fast a process forgets, ``bounds`` how far a result on data can be from the
truth, ``continuity`` whether classes are such as a theorem assumes, ``dynamics`` how online rules
move while they learn. Used by the estimators' ``bound`` methods and by reports, never by the
algorithms.
"""

from eigenstream.theory.bounds import *  # noqa: F403
from eigenstream.theory.bounds import __all__ as _bounds
from eigenstream.theory.continuity import ClassContinuity, class_continuity
from eigenstream.theory.dynamics import *  # noqa: F403
from eigenstream.theory.dynamics import __all__ as _dynamics
from eigenstream.theory.mixing import *  # noqa: F403
from eigenstream.theory.mixing import __all__ as _mixing

__all__ = [*_bounds, *_dynamics, *_mixing, "ClassContinuity", "class_continuity"]
