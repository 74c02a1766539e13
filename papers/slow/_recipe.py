"""What an experiment of [SLOW] section 6 consists of: its recipe, its variants, its findings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from numpy.typing import NDArray

from eigenstream._linalg import Float64s, Floats
from eigenstream.schedules import Power
from papers.base import Curve, Effort

#: How many features are learned, as in the paper.
FEATURES = 10
#: Views of a real image are watched up to this many.
SOURCE_VIEWS = 50_000
#: Views read and learned at a time, in float32: half the memory, and kernels at twice the speed.
CHUNK = 4096


#: What the paper leaves open in both experiments, and what is done here.
COMMON_CHOICES = (
    (
        "Which image?",
        "A periodic page of 512 × 512 pixels: random letters, no digits, in eight faces, black on "
        "white, drawn anew for each seed.",
    ),
    (
        "Which digits?",
        "One font (DejaVu Serif Bold), a zero 18 pixels high, centred by its box, black on white, "
        "brightness normalised like the views. Several fonts would be harder.",
    ),
    (
        "How many draws for the error?",
        "All: the expectation over every choice of the known examples is counted exactly. One draw "
        "has a spread of some 0.045.",
    ),
    ("Centred?", "Both ways. The mean is that of the views watched."),
    (
        "Which sign convention?",
        "Both ways. The paper's objective multiplies the variance by alpha, its section 5 the "
        "velocity. In this report alpha is always the weight of the variance.",
    ),
    (
        "Which prototypes?",
        "Independent views of the same page: what taking them at intervals beyond the mixing time "
        "comes to.",
    ),
)


@dataclass(frozen=True)
class FeatureKey:
    """Which features a figure is about."""

    #: "raw", "linear" or the name of an RBF network.
    space: str
    variant: str = ""

    @property
    def name(self) -> str:
        """How a table calls it."""
        return f"{self.space}, {self.variant}" if self.variant else self.space


RAW = FeatureKey("raw pixels")


@dataclass(frozen=True)
class Variant:
    """One way to solve for a subspace from the two matrices, and to use it."""

    name: str
    #: A number, "auto" or "bound".
    alpha: float | str
    center: bool = True
    #: Whether to divide the learned features of each image by their norm.
    unit: bool = False


PCA = Variant("PCA", 1.0)
#: The paper's two conventions: the weight 0.8 on the velocity, or on the variance.
ON_VELOCITY = (
    Variant("alpha 0.2, not centred", 0.2, center=False),
    Variant("alpha 0.2, centred", 0.2),
)
ON_VARIANCE = (
    Variant("alpha 0.8, not centred", 0.8, center=False),
    Variant("alpha 0.8, centred", 0.8),
)
AUTO = Variant("alpha auto, centred", "auto")
BOUND = Variant("alpha by the bound, centred", "bound")
UNIT = (
    Variant("alpha 0.2, centred, unit features", 0.2, unit=True),
    Variant("alpha auto, centred, unit features", "auto", unit=True),
)
LINEAR_VARIANTS = (PCA, *ON_VELOCITY, *ON_VARIANCE, AUTO, BOUND, *UNIT)
RBF_VARIANTS = (*ON_VELOCITY, *ON_VARIANCE, AUTO, *UNIT)


@dataclass(frozen=True)
class Online:
    """The online rule, learning beside the batch from the same views."""

    name: str
    schedule: Any
    center: bool
    unit: bool = False


#: The paper's learning rate.
PAPER_RATE = Power(100.0, 1e4)
#: The paper's rule (0.2 on the variance) with the paper's rate, and with the automatic one.
#: Both start from the first observations.
ONLINE = (
    Online("online, the paper's rate, not centred", PAPER_RATE, center=False),
    Online("online, the paper's rate, centred", PAPER_RATE, center=True),
    Online("online, automatic rate, centred", "auto", center=True),
)
#: Two of them on a page and digits of white ink on black: views without a large mean.
REVERSED = {
    rule: FeatureKey("linear", f"{rule.name}, white on black") for rule in (ONLINE[0], ONLINE[-1])
}
#: The last of them with unit features.
ONLINE_UNIT = replace(ONLINE[-1], name=f"{ONLINE[-1].name}, unit features", unit=True)
#: Whose learning curves are drawn, in the linear space.
CURVES = (AUTO, ONLINE[0], ONLINE[2])
#: What is shown of real data.
HARD_VARIANTS = (PCA, ON_VELOCITY[1], AUTO, UNIT[1])


@dataclass(frozen=True)
class SlowSettings:
    """How much is watched and asked."""

    #: Side of a view, and states of each digit in a test set: both as in the paper.
    size: int = 28
    states: int = 100
    #: Observations, and sizes of the RBF networks; the last are the paper's.
    views: Mapping[Effort, int] = field(
        default_factory=lambda: {"quick": 10_000, "default": 100_000, "full": 1_000_000}
    )
    prototypes: Mapping[Effort, tuple[int, ...]] = field(
        default_factory=lambda: {"quick": (500,), "default": (500,), "full": (500, 2000)}
    )
    #: The paper's gamma, and a flatter kernel: views of unit norm lie close together.
    gammas: tuple[float, ...] = (4.0, 0.25)
    #: The alphas of the sweep.
    alphas: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0)
    #: Points of the learning curve.
    moments: int = 8
    linear_variants: tuple[Variant, ...] = LINEAR_VARIANTS


@dataclass(frozen=True)
class SlowRecipe:
    """What the paper did, what it left open, what we chose, and the paper's figures."""

    name: str
    summary: str
    title: str
    lead: str
    #: Which moved digits make the test: "rotation" or "scale"; and in words.
    invariance: Literal["rotation", "scale"]
    test: str
    #: The laws of the walk, as ImageWalk takes them.
    walk: Mapping[str, Any]
    #: The paper's (ROC area, error) for "raw", "linear" and "RBF".
    paper: Mapping[str, tuple[float, float]]
    #: Questions that the paper does not answer, and our answers.
    left_open: tuple[tuple[str, str], ...] = ()
    settings: SlowSettings = field(default_factory=SlowSettings)


@dataclass
class SlowFindings:
    """What all seeds found; each list has an entry a seed."""

    views: int
    seeds: int
    #: ROC area and error on the printed digits, and on MNIST.
    printed: dict[FeatureKey, list[tuple[float, float]]] = field(default_factory=dict)
    handwritten: dict[FeatureKey, list[tuple[float, float]]] = field(default_factory=dict)
    #: By source image, what a subspace learned on it does on the printed digits.
    sources: dict[str, dict[FeatureKey, list[tuple[float, float]]]] = field(default_factory=dict)
    #: By space: areas at each alpha of the sweep; the alphas chosen; the value of the bound.
    sweeps: dict[str, list[list[float]]] = field(default_factory=dict)
    chosen: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    bounds: list[float] = field(default_factory=list)
    #: By learner: the moments, and (area, error) at each.
    moments: list[int] = field(default_factory=list)
    growth: dict[str, list[list[tuple[float, float]]]] = field(default_factory=dict)
    #: Of the first seed: curves, and what there is to look at.
    curves: dict[FeatureKey, Curve] = field(default_factory=dict)
    shown: "SlowPictures | None" = None
    #: Seconds of bare matrix products in one pass, by space, one number a seed.
    floors: dict[str, list[float]] = field(default_factory=dict)
    #: Seconds that passed on the wall, for all seeds.
    wall: float = 0.0
    real: bool = False


@dataclass(frozen=True)
class SlowPictures:
    """Pictures of the first seed."""

    page: Float64s
    watched: Floats
    digits: Float64s
    labels: NDArray[Any]
    handwritten: Float64s | None
    #: Learned filters with their eigenvalues, by what they are.
    filters: dict[str, tuple[Float64s, Float64s]]
