"""deeptime's tests of VAMP."""

from peers.deeptime_adapters import VAMP
from peers.suites import suite

globals().update(suite("tests.decomposition.test_vamp", "deeptime", VAMP=VAMP))
