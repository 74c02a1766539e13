"""deeptime's tests of TICA."""

from peers.deeptime_adapters import TICA, VAMP
from peers.suites import suite

globals().update(suite("tests.decomposition.test_tica", "deeptime", TICA=TICA, VAMP=VAMP))
