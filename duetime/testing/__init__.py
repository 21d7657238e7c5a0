"""For the tests of other projects: Duetime in memory. `duetime.testing.fixtures` has fixtures for pytest.

`pip install 'duetime[testing]'` brings what this needs.
"""

from duetime.testing.attempt import WorkerDied
from duetime.testing.fake import FakeDuetime, Stuck

__all__ = ["FakeDuetime", "Stuck", "WorkerDied"]
