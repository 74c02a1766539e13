"""xeofs' tests of EOF."""

from peers.suites import suite
from peers.xeofs_adapters import EOF

globals().update(suite("tests.conftest", "xeofs"))
globals().update(suite("tests.models.single.test_eof", "xeofs", EOF=EOF))
