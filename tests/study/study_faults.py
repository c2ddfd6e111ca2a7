"""What can go wrong below a study, one function each: what was acknowledged must be there afterwards, once.

Each is given an empty folder (or a server), and returns what it saw, or fails.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

from study_helpers import Server, answer, new_study

from choicebo.errors import ChoiceboError
from choicebo.study import StorageError, Study

CRASHERS = {
    "library": ("study_crasher.py", "kill"),
    "server": ("command_crasher.py", "server"),
    "terminal": ("command_crasher.py", "terminal"),
}
"""By what is killed: the program that does it, and its mode."""


def killed(url: str, kills: int, what: str = "library", seed: int = 1) -> str:
    """kill -9 at any moment: nothing that was acknowledged is lost, nothing is there twice."""
    study = new_study(url)
    program, mode = CRASHERS[what]
    command = [sys.executable, str(Path(__file__).with_name(program)), str(url), mode, str(kills), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60 + 10 * kills)
    assert done.returncode == 0, done.stderr
    acknowledged = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    stored = [(past.question, past.kept[0]) for past in study.history()]
    lost = len(set(acknowledged) - set(stored))
    doubled = len(stored) - len({number for number, _ in stored})
    assert (lost, doubled) == (0, 0)
    assert len(acknowledged) >= kills
    # At each kill one answer may have been stored whose receipt was still on its way.
    assert len(stored) - len(acknowledged) <= kills
    assert [question.number for question in study.questions()] == list(range(1, len(study.questions()) + 1))
    return f"{kills} kills, {len(acknowledged)} answers acknowledged, {lost} lost, {doubled} doubled"


def disk_full(folder: Path) -> str:
    """The file cannot grow: it says so, and goes on when there is room."""
    study = new_study(folder / "study.db")
    answer(study)
    room = (folder / "study.db").stat().st_size + 50_000
    said: list[str] = []
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        told = 1
        while not said:
            try:
                answer(study)
                told += 1
            except StorageError as error:
                said.append(str(error))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert study.n_answers == Study.open(folder / "study.db").n_answers == told
    answer(study)
    assert Study.open(folder / "study.db").n_answers == told + 1
    return f"{told} answers, then: {said[0].replace(str(folder), '')}"


def read_only(folder: Path) -> str:
    """Neither the file nor its folder can be written: nothing is acknowledged, nothing is lost."""
    path = folder / "study.db"
    study = new_study(path)
    answer(study)
    question = study.ask()
    path.chmod(0o444)
    folder.chmod(0o555)
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        with suppress(BaseException):
            if os.geteuid() == 0:
                os.setuid(65534)  # root may write everywhere
            try:
                study.tell(question, [0])
            except StorageError as error:
                os.write(write_end, str(error).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as said:
        text = said.read()
    os.waitpid(child, 0)
    folder.chmod(0o755)
    path.chmod(0o644)
    assert text
    assert Study.open(path).n_answers == 1
    study.tell(question, [0])
    assert Study.open(path).n_answers == 2
    return text.replace(str(folder), "")


def locked(folder: Path, seconds: float) -> str:
    """Another program holds the file: the answer waits for it."""
    study = new_study(folder / "study.db")
    question = study.ask()
    other = sqlite3.connect(folder / "study.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(seconds, other.close).start()
    began = time.monotonic()
    study.tell(question, [0])
    took = time.monotonic() - began
    assert took >= 0.9 * seconds
    assert Study.open(folder / "study.db").n_answers == 1
    return f"the answer was stored after {took:.1f} s"


def server_restarted(server: Server) -> str:
    """PostgreSQL goes and comes back between two answers: one error, nothing lost."""
    study = new_study(server.new_database())
    told = errors = 0
    for number in range(9):
        if number % 3 == 1:
            server.stop("immediate" if number == 1 else "fast")
            with suppress(StorageError):
                answer(study)
                told += 1
            server.start()
        try:
            answer(study)
            told += 1
        except StorageError:
            errors += 1
    assert study.n_answers == told
    assert errors == 0
    return f"3 restarts, {told} answers acknowledged, 0 lost, {errors} errors after the server was back"


def clock_set_back(folder: Path) -> str:
    """The clock jumps by years: the order is that of the answers, and an export can be imported."""
    study = new_study(folder / "study.db")
    moments = [datetime.now(UTC) + timedelta(days=days) for days in (0, -4000, 3000, -9000, 0)]
    for moment in moments:
        clock = mock.Mock(return_value=moment)
        with mock.patch("choicebo.study.study.now", clock), mock.patch("choicebo.study.asking.now", clock):
            answer(study)
    again = Study.open(folder / "study.db")
    assert [past.at for past in again.history()] == moments
    assert [past.question for past in study.history()] == [1, 2, 3, 4, 5]
    copy = Study.import_json(folder / "copy.db", study.export_json())
    assert copy.ask().options == study.ask().options
    return "5 answers across 33 years, in their order"


def wal_truncated(folder: Path, cuts: int = 20) -> str:
    """The end of the write-ahead log is missing: every answer that was stored before the cut is there, and can be followed."""
    study = new_study(folder / "study.db")
    log = folder / "study.db-wal"
    with closing(sqlite3.connect(folder / "study.db")) as keeps_the_log:
        keeps_the_log.execute("SELECT count(*) FROM choicebo_study").fetchall()
        lengths = []
        for _ in range(12):
            answer(study)
            lengths.append(log.stat().st_size)
        whole = log.read_bytes()
        expected = [past.kept for past in study.history()]
        found = []
        for number in range(cuts):
            path = folder / f"cut{number}.db"
            shutil.copy(folder / "study.db", path)
            left = len(whole) * number // (cuts - 1)
            path.with_name(f"{path.name}-wal").write_bytes(whole[:left])
            cut = Study.open(path)
            assert cut.n_answers == sum(length <= left for length in lengths)
            assert [past.kept for past in cut.history()] == expected[: cut.n_answers]
            found.append(cut.n_answers)
            answer(cut)
            assert Study.import_json(folder / f"copy{number}.db", cut.export_json()).n_answers == found[-1] + 1
    assert (min(found), max(found)) == (0, 12)
    return f"{cuts} cuts: all open, with 0 to 12 of 12 answers: those that were stored before the cut"


def page_corrupted(folder: Path, files: int = 120) -> str:
    """Bytes of the file are overwritten, or a single bit: an error in words, or a study that is right."""
    study = new_study(folder / "study.db")
    for _ in range(12):
        answer(study)
    expected = study.export_json()
    study.close()
    whole = (folder / "study.db").read_bytes()
    rng = random.Random(1)
    refused = 0
    for number in range(files):
        broken = bytearray(whole)
        start = rng.randrange(0, len(whole) - 512)
        if number % 3 == 0:
            broken[start] ^= 1 << rng.randrange(8)
        else:
            broken[start : start + 512] = rng.randbytes(512) if number % 3 == 1 else bytes(512)
        path = folder / f"broken{number}.db"
        path.write_bytes(broken)
        try:
            opened = Study.open(path)
            assert opened.export_json() == expected
            told = answer(opened)
            assert Study.open(path).history()[-1].id == told.id
        except ChoiceboError:
            refused += 1
    assert refused
    return f"{files} damaged files: {refused} refused in words, {files - refused} read as they were written, no other exception"
