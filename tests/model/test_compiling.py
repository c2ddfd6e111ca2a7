"""The life of the compiled code: stored, loaded, replaced, and compiled once, whatever the disk does.

Most of it is tried on a function that compiles in no time, in processes of their own with a cache folder of their own.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numba
import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import FitInterruptedError
from choicebo.model import compiling, jit, native

SOURCE = Path(cb.__file__).parent

SMALL = """
from numba import types
from choicebo.model.jit import compiled, entry

FACTOR = 2


@compiled
def inner(x):
    return FACTOR * x


@entry(types.int64(types.int64))
def scaled(x):
    return inner(x)
"""

REPORT = """
import json
from small import scaled

stored = scaled.is_stored()
value = scaled(21)
stats = scaled.dispatcher().stats
compiled, loaded = (sum(counts.values()) for counts in (stats.cache_misses, stats.cache_hits))
print(json.dumps({"stored": stored, "value": value, "compiled": compiled, "loaded": loaded}))
"""

COMPILED = {"stored": False, "value": 42, "compiled": 1, "loaded": 0}
LOADED = {"stored": True, "value": 42, "compiled": 0, "loaded": 1}


class Processes:
    """Starts Python processes that share a cache folder and know the small module."""

    def __init__(self, folder: Path) -> None:
        self.module, self.cache = folder / "small.py", folder / "cache"
        self.module.write_text(SMALL)
        paths = [str(folder), str(SOURCE.parent)]
        self._environment = {
            **os.environ,
            "NUMBA_CACHE_DIR": str(self.cache),
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def start(self, program: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            env={**self._environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, program: str = REPORT, **environment: str):
        """What the program prints, read as JSON."""
        return finished(self.start(program, **environment))


def finished(process: subprocess.Popen[str]):
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return json.loads(output)


@pytest.fixture
def processes(tmp_path) -> Processes:
    return Processes(tmp_path)


# What is stored ---------------------------------------------------------------------------------------------


def test_stored_code_is_loaded_by_a_new_process(processes):
    assert processes.run() == COMPILED
    assert processes.run() == LOADED


def test_a_changed_source_file_is_compiled_anew(processes):
    processes.run()
    processes.module.write_text(SMALL.replace("FACTOR = 2", "FACTOR = 30"))
    assert processes.run() == {**COMPILED, "value": 630}
    assert processes.run() == {**LOADED, "value": 630}


def test_all_compiled_code_is_in_one_file():
    """Numba looks at no other file to see whether the code has changed."""
    functions = [part.py_func for part in vars(native).values() if isinstance(part, numba.core.dispatcher.Dispatcher)]
    functions += [entry.dispatcher().py_func for entry in jit.entries]
    assert len(functions) > 10
    assert {function.__module__ for function in functions} == {native.__name__}


@pytest.mark.parametrize(
    ("ending", "damage"),
    [(".nbi", lambda data: b""), (".nbi", lambda data: b"\x1d" * 300), (".nbc", lambda data: data[:60])],
    ids=["empty index", "index of garbage", "code cut off"],
)
def test_a_damaged_file_is_replaced(processes, ending, damage):
    processes.run()
    files = list(processes.cache.rglob(f"*{ending}"))
    assert files
    for file in files:
        file.write_bytes(damage(file.read_bytes()))
    again = processes.run()
    assert (again["stored"], again["value"]) == (False, 42)
    assert processes.run() == LOADED


def test_a_damaged_file_that_cannot_be_replaced_is_compiled_for_one_process(processes):
    processes.run()
    for file in processes.cache.rglob("*.nbi"):
        file.write_bytes(b"")
    assert processes.run(FULL_DISK)["value"] == 42


FULL_DISK = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # whatever is written to any file fails
{REPORT}
"""


@pytest.mark.skipif(sys.platform == "win32", reason="file sizes cannot be limited there")
def test_a_full_disk_costs_the_storing_and_nothing_else(processes):
    assert processes.run(FULL_DISK) == COMPILED
    assert processes.run(FULL_DISK) == COMPILED
    assert processes.run() == COMPILED


def test_where_nothing_can_be_written_every_process_compiles(processes):
    read_only = f"""
    from numba.core import caching
    caching.CacheImpl._locator_classes = []  # as where neither the installation nor the home can be written to
    {textwrap.indent(REPORT, "    ").strip()}
    """
    found = processes.run(read_only)
    assert (found["stored"], found["value"], found["loaded"]) == (False, 42, 0)
    assert not processes.cache.exists()


def test_several_processes_at_once_do_not_disturb_each_other(processes):
    at_once = [processes.start(REPORT) for _ in range(4)]
    assert [finished(process)["value"] for process in at_once] == [42] * 4
    assert processes.run() == LOADED


# When it is compiled, and who waits -------------------------------------------------------------------------


class Recorded:
    """An entry that only remembers what was asked of it."""

    def __init__(self, events: list[str], stored: bool = False, later: bool = False) -> None:
        self.events, self.stored, self.later = events, stored, later

    def is_stored(self) -> bool:
        return self.stored

    def compile(self) -> None:
        time.sleep(0.02)  # others may come meanwhile
        self.events.append("load" if self.stored else "compile")


class Background:
    """A process that compiles, as far as anybody can tell."""

    def __init__(self, entry: Recorded, succeeds: bool = True) -> None:
        self._entry, self._succeeds = entry, succeeds

    def __call__(self, command, **_):
        assert command[0] == sys.executable
        self._entry.events.append("start")
        return self

    def wait(self):
        self._entry.events.append("wait")
        self._entry.stored = self._succeeds


@pytest.fixture
def entry(monkeypatch) -> Recorded:
    """The only entry of a process that has not compiled anything yet."""
    recorded = Recorded([])
    monkeypatch.setattr(compiling, "_entries", lambda: [recorded])
    monkeypatch.setattr(compiling, "_ready", False)
    monkeypatch.setattr(compiling, "_process", None)
    return recorded


def test_whoever_needs_the_code_waits_for_the_process_that_compiles_it(entry, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", Background(entry))
    compiling.start()
    compiling.start()
    assert entry.events == ["start"]
    compiling.prepare()
    compiling.prepare()
    assert entry.events == ["start", "wait", "load"]
    compiling.start()
    assert entry.events == ["start", "wait", "load"]


def test_a_process_that_fails_leaves_the_compiling_to_whoever_needs_the_code(entry, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", Background(entry, succeeds=False))
    compiling.start()
    compiling.prepare()
    assert entry.events == ["start", "wait", "compile"]


def test_a_process_that_cannot_be_started_does_no_harm(entry, monkeypatch):
    def refused(*_, **__):
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", refused)
    compiling.start()
    compiling.prepare()
    assert entry.events == ["compile"]


def test_what_a_first_fit_does_without_is_compiled_by_another_process(entry, monkeypatch):
    later = Recorded([], later=True)
    monkeypatch.setattr(compiling, "_entries", lambda: [entry, later])
    monkeypatch.setattr(subprocess, "Popen", Background(later))
    compiling.prepare()
    assert (entry.events, later.events) == (["compile"], ["start"])


def test_everything_is_compiled_here_where_there_can_be_no_other_process(entry, monkeypatch):
    def refused(*_, **__):
        raise OSError("no more processes")

    later = Recorded([], later=True)
    monkeypatch.setattr(compiling, "_entries", lambda: [entry, later])
    monkeypatch.setattr(subprocess, "Popen", refused)
    compiling.prepare()
    assert (entry.events, later.events) == (["compile"], ["compile"])


@pytest.mark.parametrize("only_later", [False, True])
def test_a_process_that_compiles_leaves_nothing_to_others(entry, monkeypatch, only_later):
    later = Recorded([], later=True)
    monkeypatch.setattr(compiling, "_entries", lambda: [entry, later])
    compiling.compile_all(later=only_later)
    assert (entry.events, later.events) == ([] if only_later else ["compile"], ["compile"])


def test_stored_code_is_loaded_without_a_word(entry, caplog):
    entry.stored = True
    assert compiling.is_compiled()
    with caplog.at_level(logging.INFO):
        compiling.prepare(pytest.fail)
    assert entry.events == ["load"]
    assert not caplog.records


def test_threads_that_need_the_code_at_once_compile_it_once(entry):
    ready = threading.Barrier(4)

    def work():
        ready.wait()
        compiling.prepare()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entry.events == ["compile"]


def test_a_fit_says_once_that_it_compiles(entry, caplog):
    data = cb.ChoiceData([[0.1], [0.9]], [cb.Choice((0, 1), (0,))])
    seen = []
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            cb.ChoiceGP(latent_dim=1, engine="laplace").fit(data, progress=lambda *said: seen.append(said))
    assert seen[0] == (compiling.MESSAGE, 0.0)
    assert [stage for stage, _ in seen].count(compiling.MESSAGE) == 1
    (record,) = (record for record in caplog.records if record.name == compiling.__name__)
    assert record.levelno == logging.INFO
    assert compiling.MESSAGE in record.getMessage()
    assert entry.events == ["compile"]


def test_a_fit_can_be_interrupted_before_it_compiles(entry):
    data = cb.ChoiceData([[0.1], [0.9]], [cb.Choice((0, 1), (0,))])
    with pytest.raises(FitInterruptedError, match=compiling.MESSAGE):
        cb.ChoiceGP(latent_dim=1, engine="laplace").fit(data, progress=lambda *_: False)
    assert entry.events == []
    compiling.prepare()
    assert entry.events == ["compile"]


def test_whoever_only_starts_the_compiling_does_not_load_numba(processes):
    program = """
    import json, subprocess, sys
    subprocess.Popen = lambda *_, **__: None
    from choicebo.model.compiling import start
    start()
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
    """
    assert {"numba", "llvmlite", "scipy", "numpy"}.isdisjoint(processes.run(program))


# The model itself -------------------------------------------------------------------------------------------

FIT = """
import json
import choicebo as cb
from choicebo.model import compiling, jit

{before}
stored, said = compiling.is_compiled(), []
data = cb.ChoiceData([[0.1], [0.5], [0.9]], [cb.Choice((0, 1), (0,)), cb.Choice((0, 1, 2), (0, 2))])
posterior = cb.ChoiceGP(latent_dim=1, engine="laplace").fit(data, progress=lambda stage, _: said.append(stage))
posterior.loo(0)
stats = [entry.dispatcher().stats for entry in jit.entries]
print(json.dumps({{
    "stored": stored,
    "compiled": sum(sum(each.cache_misses.values()) for each in stats),
    "loaded": sum(sum(each.cache_hits.values()) for each in stats),
    "said": said.count(compiling.MESSAGE),
    "mean": posterior.latent(data.X).mean.ravel().tolist(),
}}))
"""


def test_the_model_is_compiled_in_the_background_and_loaded_by_everybody(processes):
    """With the real code: the one who started the compiling waits for it, and nobody compiles a second time."""
    waited = processes.run(FIT.format(before="compiling.start()"))
    entries = len(jit.entries)
    mean = waited.pop("mean")
    assert waited == {"stored": False, "compiled": 0, "loaded": entries, "said": 1}
    later = processes.run(FIT.format(before=""))
    np.testing.assert_array_equal(later.pop("mean"), mean)
    assert later == {"stored": True, "compiled": 0, "loaded": entries, "said": 0}


@pytest.mark.slow
def test_the_model_fits_where_nothing_can_be_stored(processes):
    nowhere = "from numba.core import caching; caching.CacheImpl._locator_classes = []"
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"
    usual, read_only, full_disk = (processes.run(FIT.format(before=before)) for before in ("", nowhere, full))
    assert usual["said"] == read_only["said"] == 1
    assert read_only["mean"] == full_disk["mean"] == usual["mean"]


@pytest.mark.slow
def test_a_changed_constant_of_the_model_is_noticed(processes, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(SOURCE, copy / "choicebo", ignore=shutil.ignore_patterns("__pycache__"))
    here = {"PYTHONPATH": str(copy)}
    before = processes.run(FIT.format(before=""), **here)
    file = copy / "choicebo" / "model" / "native.py"
    source = file.read_text()
    assert "_SQRT_HALF = _F(np.sqrt(0.5))" in source
    file.write_text(source.replace("_SQRT_HALF = _F(np.sqrt(0.5))", "_SQRT_HALF = _F(np.sqrt(0.05))"))
    after = processes.run(FIT.format(before=""), **here)
    assert (after["stored"], after["compiled"]) == (False, len(jit.entries))
    assert not np.allclose(after["mean"], before["mean"], rtol=0.05)


@pytest.mark.slow
def test_two_processes_that_compile_the_model_at_once_get_the_same(processes):
    both = [processes.start(FIT.format(before="")) for _ in range(2)]
    one, other = (finished(process) for process in both)
    assert one["mean"] == other["mean"]
    assert processes.run(FIT.format(before=""))["compiled"] == 0
