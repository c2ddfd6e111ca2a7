from __future__ import annotations

from collections.abc import Iterator

import pytest
from study_helpers import Server, postgres_server, server_binaries


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A real PostgreSQL server, started for the tests."""
    binaries = server_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's server programs are not installed (Debian: apt install postgresql)")
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'choicebo[postgres]'")
    with postgres_server(binaries) as running:
        yield running
