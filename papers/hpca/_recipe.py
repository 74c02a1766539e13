"""What an experiment of [HPCA] section 7 consists of: its recipe, its methods, its findings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.typing import NDArray

from eigenstream._linalg import Float64s, Floats
from papers.base import Curve, Effort
from papers.data.labelled import DataFile

#: Margin of the paper's rule for the weight.
PAPER_MARGIN = 0.01
#: How much of the like pairs' scatter is replaced by a multiple of the identity in a quotient.
SHRINKAGE = 0.1


@dataclass(frozen=True)
class PairSettings:
    """How much is searched, by effort."""

    #: C times the median squared distance of the training images, where C is chosen; of two values
    #: that do equally well the first is taken.
    products: Mapping[Effort, tuple[float, ...]] = field(
        default_factory=lambda: {
            "quick": (0.5, 1.0),
            "default": (0.5, 1.0, 2.0, 0.25),
            "full": (0.5, 1.0, 2.0, 0.25, 4.0),
        }
    )
    #: Rows, evenly out of every class, by which weights and kernels are compared; all are learned.
    search_rows: Mapping[Effort, int] = field(
        default_factory=lambda: {"quick": 300, "default": 600, "full": 1200}
    )
    #: The weights compared on held-out classes; by default those of the estimator.
    etas: Any = "auto"
    #: Prototypes that stand for the kernel where there are too many rows for the kernel itself.
    landmarks: Mapping[Effort, int] = field(
        default_factory=lambda: {"quick": 200, "default": 500, "full": 1000}
    )


@dataclass(frozen=True)
class Paper:
    """A column of the paper's table."""

    classes: str
    dimensions: int
    eta: float
    #: C of the kernel 1/2 exp(-C |x - y|^2).
    scale: float
    risk: float
    threshold: float
    raw: float
    projected: float


@dataclass(frozen=True)
class LabelledSet:
    """Rows and their classes."""

    rows: Floats
    labels: NDArray[Any]


@dataclass(frozen=True)
class Task:
    """Something to learn from, and what to ask afterwards, by name; the first is the paper's."""

    name: str
    train: LabelledSet
    tests: Mapping[str, LabelledSet]


@dataclass(frozen=True)
class Method:
    """How to learn: in which space, and how the weight and the kernel's sharpness are chosen."""

    name: str
    space: Literal["kernel", "landmarks", "linear"] = "kernel"
    #: The paper's C, or one of the products.
    scale: Literal["paper", "chosen"] = "chosen"
    #: By the error on held-out classes, or by the margin risk of the training pairs.
    rule: Literal["classes", "margin"] = "classes"
    criterion: Literal["difference", "ratio"] = "difference"
    #: Prototypes for more rows than the kernel itself can take; eta and C are then those that the
    #: kernel chooses on some of the rows.
    prototypes: int | None = None


PAPER_SCALE = Method("paper's C, held-out classes", scale="paper")
PAPER_BOTH = Method("paper's C, paper's rule", scale="paper", rule="margin")
CHOSEN = Method("C by held-out classes")
CHOSEN_MARGIN = Method("C by the paper's rule", rule="margin")
LINEAR = Method("linear", space="linear")
LANDMARKED = Method("landmarks, C by held-out classes", space="landmarks")
LANDMARKED_MARGIN = Method("landmarks, C by the paper's rule", space="landmarks", rule="margin")
QUOTIENT = Method("landmarks, quotient", space="landmarks", criterion="ratio")
MANY = Method("3000 landmarks", prototypes=3000)
KERNEL_METHODS = (PAPER_SCALE, PAPER_BOTH, CHOSEN, CHOSEN_MARGIN)
#: Named where no learning took place.
RAW = Method("raw")


@dataclass(frozen=True)
class Pictures:
    """What there is to look at: the images behind the rows of a repetition's first task."""

    train: Floats
    test: Floats
    shape: tuple[int, int]


@dataclass(frozen=True)
class Run:
    """One repetition: its tasks with the methods to learn each by, and pictures for the page."""

    tasks: Sequence[tuple[Task, tuple[Method, ...]]]
    pictures: Pictures
    #: Of which task and method the nearest neighbours are shown, beside those of the first task.
    featured: tuple[str, Method]


@dataclass(frozen=True)
class ResultKey:
    """What a figure is about: the task learned from, the method, and what was asked."""

    task: str
    method: Method
    test: str

    @property
    def name(self) -> str:
        """How a table calls it."""
        return f"{self.task}: {self.method.name}"


@dataclass(frozen=True)
class Learned:
    """What came out of one repetition; raw features have only the first four."""

    error: float
    risk: float
    threshold: float | None
    area: float
    dimensions: int | None = None
    n_positive: int | None = None
    eta: float | None = None
    scale: float | None = None
    #: C times the median squared distance of the training rows.
    product: float | None = None
    #: The least loss of the rule that chose: an error on held-out classes, or a margin risk.
    loss: float | None = None
    #: The balanced risk on the training pairs.
    training_risk: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class RiskCurve:
    """The balanced risk at thresholds from zero to where every pair is called same (1)."""

    thresholds: Float64s
    risks: Float64s


@dataclass(frozen=True)
class Rings:
    """Linear eigenvectors of rotated images, and how much of each is constant on rings."""

    filters: Float64s
    eigenvalues: Float64s
    n_positive: int
    shares: Float64s


@dataclass(frozen=True)
class Neighbours:
    """A query and the nearest other images, before and after learning, as indices of pictures."""

    query: int
    raw: list[int]
    learned: list[int]


@dataclass(frozen=True)
class NeighbourPictures:
    """Pictures of the first repetition, and what is near what in them."""

    pictures: Pictures
    labels: NDArray[Any]
    neighbours: list[Neighbours]
    raw: str
    learned: str


@dataclass
class PairFindings:
    """What all repetitions found; each list has an entry a repetition."""

    runs: list[str] = field(default_factory=list)
    rows: dict[ResultKey, list[Learned]] = field(default_factory=dict)
    #: Of the first repetition.
    curves: dict[ResultKey, Curve] = field(default_factory=dict)
    risks: dict[ResultKey, RiskCurve] = field(default_factory=dict)
    shown: NeighbourPictures | None = None
    rings: Rings | None = None
    ring_shares: list[tuple[float, float]] = field(default_factory=list)
    #: By task: how many classes and rows were learned from.
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    #: Whatever else a recipe has to tell, by name.
    facts: dict[str, list[float]] = field(default_factory=dict)
    wall: float = 0.0

    def add(self, later: "PairFindings") -> None:
        """Take in what another repetition found; what is of the first one stays."""
        for key, rows in later.rows.items():
            self.rows.setdefault(key, []).extend(rows)
        self.curves, self.risks = later.curves | self.curves, later.risks | self.risks
        self.shown, self.rings = self.shown or later.shown, self.rings or later.rings
        self.ring_shares += later.ring_shares
        self.sizes |= later.sizes


@dataclass(frozen=True)
class PairRecipe:
    """What the paper did, what it left open, what we chose, and the paper's figures."""

    name: str
    summary: str
    title: str
    lead: str
    #: Names the repetitions and makes each when asked to, given the effort and the seeds.
    runs: Callable[[Effort, int], list[tuple[str, Callable[[], Run]]]]
    #: The paper's column, by the test that it is about.
    paper: Mapping[str, Paper]
    #: How many directions are learned at most.
    dimensions: int
    #: In words: what is asked after learning, and what the repetitions are.
    test: str
    repeated: str
    left_open: tuple[tuple[str, str], ...] = ()
    #: Files that it needs.
    sources: tuple[DataFile, ...] = ()
    #: What one would use without a look at the test, of the first task; by default the method with
    #: the least error on held-out classes.
    default: Method | None = None
    heading: str = "Beside the paper"
    #: How eta and C were decided upon.
    deciding: str = (
        "Both rules look at training classes only; with a kernel, at up to {rows} of the rows, "
        "evenly out of every class. Then all rows are learned."
    )
    #: Whether to look for rings in what the linear method learns from the first task.
    rings: bool = False
    settings: PairSettings = field(default_factory=PairSettings)
