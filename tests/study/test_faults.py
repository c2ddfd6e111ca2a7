"""Faults below a study: what was acknowledged is there afterwards, once. ``benchmarks/faults.py`` prints the same as a table."""

from __future__ import annotations

import pytest
import study_faults

KILLS = 500
"""Of processes that use the library, on each of two databases."""
KILLED_COMMANDS = 20
"""Servers and terminals, on each of them; ``benchmarks/faults.py`` kills hundreds."""


@pytest.fixture
def folder(tmp_path_factory):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as name:  # one that other users may enter, too
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize(
    "fault",
    [
        study_faults.disk_full,
        study_faults.read_only,
        study_faults.clock_set_back,
        study_faults.wal_truncated,
        study_faults.page_corrupted,
    ],
)
def test_nothing_that_was_acknowledged_is_lost(folder, fault):
    assert fault(folder)


def test_a_lock_of_another_program_is_waited_for(folder):
    assert study_faults.locked(folder, 0.5)


def test_a_server_that_is_restarted_is_found_again(server):
    assert study_faults.server_restarted(server)


@pytest.mark.slow
def test_a_lock_of_35_seconds_is_waited_for(folder):
    assert study_faults.locked(folder, 35)


@pytest.mark.slow
def test_hundreds_of_kills_lose_nothing_in_a_file(folder):
    assert study_faults.killed(str(folder / "study.db"), KILLS)


@pytest.mark.slow
def test_hundreds_of_kills_lose_nothing_on_a_server(server):
    assert study_faults.killed(server.new_database(), KILLS)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["server", "terminal"])
def test_killed_commands_lose_nothing_in_a_file(folder, what):
    assert study_faults.killed(str(folder / "study.db"), KILLED_COMMANDS, what)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["server", "terminal"])
def test_killed_commands_lose_nothing_on_a_server(server, what):
    assert study_faults.killed(server.new_database(), KILLED_COMMANDS, what)
