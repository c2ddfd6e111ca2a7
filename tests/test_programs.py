"""Programs that are kept between processes."""

import gc
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import choicebo
from choicebo import _compile, _programs
from choicebo._compile import jit
from choicebo._runtime import in_parallel
from choicebo.acquisition.ucb import UpperBound

SOURCE = """
def scaled(x, power, calls):
    calls.append(power)
    return {"root": jnp.linalg.cholesky(x), "power": x**power}
"""


class Calls(list):
    """What a function was traced with; static, and the same for every caller."""

    __module__ = "choicebo.imagined"

    def __hash__(self):
        return 0

    def __eq__(self, other):
        return isinstance(other, Calls)

    def __repr__(self):
        return "calls"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CHOICEBO_CACHE", str(tmp_path))
    monkeypatch.setattr(_compile, "_in_memory", {})
    return tmp_path / f"programs-{jax.__version__}"


def as_in_a_new_process():
    """A function of the package that this process has not met."""
    names = {"jnp": jnp}
    exec(compile(SOURCE, str(Path(choicebo.__file__).parent / "imagined.py"), "exec"), names)
    return jit("power", "calls")(names["scaled"])


def test_what_one_process_compiled_another_one_loads(folder):
    x, calls = 4.0 * jnp.eye(3), Calls()
    first = as_in_a_new_process()(x, power=2, calls=calls)
    assert list(calls) == [2]
    second = as_in_a_new_process()(x, power=2, calls=calls)
    assert list(calls) == [2]
    assert len(list(folder.iterdir())) == 1
    for key in first:
        np.testing.assert_array_equal(first[key], second[key])


def test_other_shapes_types_and_static_arguments_are_other_programs(folder):
    calls = Calls()
    for x, power in ((jnp.eye(2), 2), (jnp.eye(3), 2), (jnp.eye(3), 3), (jnp.eye(3, dtype=jnp.float32), 3)):
        as_in_a_new_process()(x, power=power, calls=calls)
    assert list(calls) == [2, 2, 3, 3]
    assert len(list(folder.iterdir())) == 4


@pytest.mark.parametrize("content", [b"", b"no program", pickle.dumps((b"no program", None, None))])
def test_a_damaged_program_is_compiled_anew(folder, content):
    x, calls = jnp.eye(2), Calls()
    as_in_a_new_process()(x, power=2, calls=calls)
    (file,) = folder.iterdir()
    file.write_bytes(content)
    found = as_in_a_new_process()(x, power=2, calls=calls)
    np.testing.assert_array_equal(found["power"], x)
    assert list(calls) == [2, 2]
    assert len(file.read_bytes()) > 1000


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
def test_a_program_that_others_could_have_written_is_not_run(folder):
    calls = Calls()
    as_in_a_new_process()(jnp.eye(2), power=2, calls=calls)
    (file,) = folder.iterdir()
    file.chmod(0o666)
    as_in_a_new_process()(jnp.eye(2), power=2, calls=calls)
    assert list(calls) == [2, 2]


def test_a_program_that_fails_when_it_runs_is_compiled_anew(monkeypatch):
    def fails(**inputs):
        raise RuntimeError("Function not found")

    monkeypatch.setattr(_programs, "load", lambda name: fails)
    calls = Calls()
    found = as_in_a_new_process()(jnp.eye(2), power=2, calls=calls)
    np.testing.assert_array_equal(found["power"], jnp.eye(2))
    assert list(calls) == [2]


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("CHOICEBO_CACHE", str(tmp_path / "file"))
    found = as_in_a_new_process()(jnp.eye(2), power=2, calls=Calls())
    np.testing.assert_array_equal(found["power"], jnp.eye(2))


def test_functions_of_others_are_not_stored(folder):
    doubled = jit()(lambda x: 2.0 * x)
    assert float(doubled(jnp.asarray(2.0))) == 4.0
    assert not folder.exists()


def test_what_has_no_lasting_description_has_no_name():
    ours = str(Path(choicebo.__file__).parent / "imagined.py")
    assert _programs.name_of(ours, "function", object()) is None
    assert _programs.name_of(ours, "function", 1) != _programs.name_of(ours, "function", 2)
    assert _programs.name_of("elsewhere.py", "function", 1) is None


@dataclass(frozen=True)
class OwnAcquisition:
    """As a user writes one: nothing shows whether its methods are still those that were compiled."""

    weight: float = 1.0


@dataclass(frozen=True)
class Pair:
    first: object
    second: object


Pair.__module__ = "choicebo.imagined"


def test_what_a_user_wrote_is_compiled_in_every_process():
    ours = str(Path(choicebo.__file__).parent / "imagined.py")
    assert _programs.name_of(ours, [("acquisition", UpperBound(0.9))]) is not None
    assert _programs.name_of(ours, [("acquisition", Pair(UpperBound(0.9), 1))]) is not None
    for own in (OwnAcquisition(), OwnAcquisition, Pair(UpperBound(0.9), OwnAcquisition()), {"of": (OwnAcquisition(),)}):
        assert _programs.name_of(ours, [("acquisition", own)]) is None


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of the package's source to change; says what the program of a function in a file of it would be called."""
    package = tmp_path / "choicebo"
    shutil.copytree(Path(choicebo.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(_programs, "_PACKAGE", package)

    def name(file):
        _programs._source_without.cache_clear()
        return _programs.name_of(str(package / file), "function")

    yield package, name
    _programs._source_without.cache_clear()


@pytest.mark.parametrize(
    ("changed", "anew"),
    [
        ("web/app.py", []),
        ("optimizer/optimizer.py", []),
        ("acquisition/ucb.py", ["acquisition/maximise.py"]),
        ("model/kernels.py", ["acquisition/maximise.py", "model/gp.py"]),
        ("_compile.py", ["acquisition/maximise.py", "model/gp.py"]),
    ],
)
def test_a_program_follows_the_source_of_its_room_and_of_those_below(copied, changed, anew):
    package, name = copied
    files = ["acquisition/maximise.py", "model/gp.py"]
    before = [name(file) for file in files]
    with (package / changed).open("a") as file:
        file.write("# changed\n")
    assert [file for file, old in zip(files, before, strict=True) if name(file) != old] == anew


def test_the_rooms_are_those_whose_imports_are_checked():
    pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    layers = pyproject["tool"]["importlinter"]["contracts"][0]["layers"]
    rooms = [layer.strip("()") for layer in layers]
    assert list(_programs.ROOMS) == rooms[: rooms.index("model")][::-1]


def test_programs_that_were_not_used_for_longest_make_room(folder, monkeypatch):
    calls = Calls()
    for size in (2, 3, 4):
        as_in_a_new_process()(jnp.eye(size), power=2, calls=calls)
        for file in folder.iterdir():  # so that the next one is newer
            os.utime(file, (file.stat().st_mtime - 10,) * 2)
    sizes = [file.stat().st_size for file in folder.iterdir()]
    monkeypatch.setattr(_programs, "MOST_BYTES", int(2.5 * max(sizes)))
    as_in_a_new_process()(jnp.eye(5), power=2, calls=calls)
    as_in_a_new_process()(jnp.eye(4), power=2, calls=calls)
    assert list(calls) == [2, 2, 2, 2]
    as_in_a_new_process()(jnp.eye(2), power=2, calls=calls)
    assert list(calls) == [2, 2, 2, 2, 2]


def test_programs_leave_memory_and_come_back_from_disk(monkeypatch):
    monkeypatch.setattr(_compile, "MOST_PROGRAMS", 2)
    function, calls = as_in_a_new_process(), Calls()
    loaded = []
    load = _programs.load
    monkeypatch.setattr(_programs, "load", lambda name: loaded.append(name) or load(name))
    for size in (2, 3, 2, 4, 2, 3):
        np.testing.assert_array_equal(function(jnp.eye(size), power=2, calls=calls)["power"], jnp.eye(size))
    assert len(calls) == 3
    assert len(loaded) == 4


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no list of memory maps here")
def test_a_process_that_meets_ever_new_shapes_does_not_run_out_of_memory_maps(monkeypatch):
    def maps():
        gc.collect()
        return len(Path("/proc/self/maps").read_bytes().splitlines())

    function = as_in_a_new_process()

    def growth(sizes):
        before = maps()
        for size in sizes:
            function(jnp.eye(size), power=2, calls=Calls())
        return maps() - before

    growth(range(2, 4))  # whatever is needed once
    kept = growth(range(4, 10))
    monkeypatch.setattr(_compile, "_is_crowded", lambda: len(_compile._in_memory) > 1)
    assert kept > 12
    assert growth(range(10, 16)) < 0.3 * kept


def test_a_process_is_crowded_when_it_nears_the_limit(monkeypatch):
    assert not _compile._is_crowded()
    monkeypatch.setattr(_compile, "CROWDED", 1e-6)
    assert _compile._is_crowded() == Path("/proc/self/maps").exists()


def test_a_process_that_never_met_lapack_can_run_a_program_that_needs_it():
    compiled = jax.jit(jnp.linalg.cholesky).lower(jnp.eye(3)).compile()
    assert _programs.save("root", compiled)
    code = (
        "import numpy as np, jax; from choicebo import _programs; from choicebo._runtime import configure_jax; "
        "configure_jax(); print(np.asarray(_programs.load('root')(jax.numpy.eye(3) * 9.0))[0, 0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "3.0"), done.stderr


def test_threads_that_need_the_same_program_compile_it_once():
    traced = []

    @jit()
    def slow_to_trace(x):
        traced.append(threading.get_ident())
        time.sleep(0.2)
        return 2.0 * x

    x = jnp.arange(3.0)
    assert all(np.array_equal(found, 2.0 * x) for found in in_parallel(slow_to_trace, [x] * 8))
    assert len(traced) == 1
