import pytest

from tests.activities.support import FakeJob


@pytest.fixture
def job() -> FakeJob:
    return FakeJob()
