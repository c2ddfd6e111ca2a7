"""What a server has done since it started, in the text form that Prometheus reads. No names, tokens or answers are in it."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import choicebo
from choicebo.history import Question
from choicebo.serving.computing import Computing

WAITS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds up to which waits are counted."""
_LOST = ("died", "hung", "grew", "scheduler")
_LEVELS = ("urgent", "usual", "beside")
OLDER = "The model had learned from"
"""How the reason begins if the question comes from a model without the last few answers."""


class Metrics:
    """Counters of one server. Threads share it.

    >>> metrics = Metrics()
    >>> metrics.count("answers")
    >>> [line for line in metrics.lines() if line.startswith("choicebo_answers")]
    ['choicebo_answers_total 1']
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._waits: Counter[float] = Counter()
        self._waited = 0.0

    def count(self, what: str, label: str = "") -> None:
        """Count one of ``answers``, ``questions``, ``requests``; the label says of which kind."""
        with self._lock:
            self._counts[what, label] += 1

    def asked(self, question: Question, seconds: float) -> None:
        """Count a new question, and how long somebody waited for it."""
        self.count("questions", source_of(question))
        with self._lock:
            self._waits[next((limit for limit in WAITS if seconds <= limit), float("inf"))] += 1
            self._waited += seconds

    def lines(self) -> Iterator[str]:
        """The counters, line by line."""
        with self._lock:
            counts, waits, waited = self._counts.copy(), self._waits.copy(), self._waited
        yield from _counter("answers", "Answers that were stored.", {"": counts["answers", ""]})
        kinds = ("model", "older_model", "stand_in", "beginning")
        asked = {f'source="{kind}"': counts["questions", kind] for kind in kinds}
        yield from _counter("questions", "New questions, by the rule that chose them.", asked)
        served = {f'code="{label}"': counts[what, label] for what, label in sorted(counts) if what == "requests"}
        yield from _counter("requests", "Requests, by status.", served)
        name = "choicebo_question_wait_seconds"
        yield f"# HELP {name} Seconds from asking for a new question until it is ready."
        yield f"# TYPE {name} histogram"
        for limit in WAITS:
            yield f'{name}_bucket{{le="{limit:g}"}} {sum(n for most, n in waits.items() if most <= limit)}'
        yield f'{name}_bucket{{le="+Inf"}} {sum(waits.values())}'
        yield f"{name}_sum {waited:.3f}"
        yield f"{name}_count {sum(waits.values())}"


def computing_lines(pool: object, models_waiting: int) -> Iterator[str]:
    """What computes, line by line."""
    yield from _gauge("models_waiting", "Models that wait for their turn to be fitted.", {"": models_waiting})
    if not isinstance(pool, Computing):
        return
    yield from _gauge("computing_slots", "Computations that can be under way at once.", {"": pool.slots})
    waiting = {f'level="{level}"': count for level, count in zip(_LEVELS, pool.queue.lengths(), strict=True)}
    yield from _gauge("queue", "Computations that wait.", waiting)
    outcomes = {f'outcome="{outcome}"': pool.counts[outcome] for outcome in ("done", "failed")}
    yield from _counter("computations", "Computations that have ended.", outcomes)
    lost = {f'reason="{reason}"': pool.counts[reason] for reason in _LOST}
    yield from _counter("worker_deaths", "Workers that were lost and replaced.", lost)


def process_lines() -> Iterator[str]:
    """The server's own process, line by line."""
    yield "# HELP choicebo_info The version that runs."
    yield "# TYPE choicebo_info gauge"
    yield f'choicebo_info{{version="{choicebo.__version__}"}} 1'
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return
    yield "# HELP process_resident_memory_bytes Memory of the server, without the processes that compute."
    yield "# TYPE process_resident_memory_bytes gauge"
    yield f"process_resident_memory_bytes {pages * os.sysconf('SC_PAGE_SIZE')}"


def source_of(question: Question) -> str:
    """What chose a question."""
    if question.strategy == "stand-in":
        return "stand_in"
    if question.latent_dim is None:
        return "beginning"
    return "older_model" if question.reason.startswith(OLDER) else "model"


def text_of(lines: Iterable[str]) -> str:
    """All lines as they are sent."""
    return "".join(f"{line}\n" for line in lines)


def _counter(name: str, told: str, values: Mapping[str, int]) -> Iterator[str]:
    yield from _family(f"{name}_total", "counter", told, values)


def _gauge(name: str, told: str, values: Mapping[str, int]) -> Iterator[str]:
    yield from _family(name, "gauge", told, values)


def _family(name: str, kind: str, told: str, values: Mapping[str, int]) -> Iterator[str]:
    yield f"# HELP choicebo_{name} {told}"
    yield f"# TYPE choicebo_{name} {kind}"
    for labels, value in values.items():
        yield f"choicebo_{name}{f'{{{labels}}}' if labels else ''} {value}"
