"""Run as a program: answers a study in processes that are killed, or in several at once, and reports what was acknowledged.

One process that has imported everything forks the others, so that many can be killed in little time.

    study_crasher.py URL kill ROUNDS SEED          one line "NUMBER KEPT" for each acknowledged answer
    study_crasher.py URL crowd PROCESSES ANSWERS   the same, from raters r0, r1, ... at once
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable

# What asking needs is imported before the processes part.
import choicebo.optimizer  # noqa: F401
from choicebo.study import Study, schema


def stream(url: str, acknowledge: Callable[[str], None], rater: str | None = None, answers: int = 10**9) -> None:
    study = Study.open(url)
    for _ in range(answers):
        question = study.ask(rater)
        kept = [question.number % 3]
        study.tell(question, kept, seconds=1.5)
        acknowledge(f"{question.number} {kept[0]}\n")


def in_child(work: Callable[[Callable[[str], None]], None]) -> tuple[int, int]:
    """Do it in another process; its id, and where its lines can be read."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child:
        os.close(write_end)
        return child, read_end
    try:
        os.close(read_end)
        work(lambda line: os.write(write_end, line.encode()) and None)
    except BaseException as error:
        os.write(2, f"{error!r}\n".encode())
        os._exit(1)
    os._exit(0)


def drain(read_end: int) -> None:
    with os.fdopen(read_end) as lines:
        sys.stdout.write(lines.read())
    sys.stdout.flush()


def kill_again_and_again(url: str, rounds: int, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(rounds):
        child, read_end = in_child(lambda acknowledge: stream(url, acknowledge))
        select.select([read_end], [], [], 60)  # at least one answer each time
        time.sleep(rng.uniform(0.0, 0.08))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        drain(read_end)


def crowd(url: str, processes: int, answers: int) -> None:
    started = [
        in_child(lambda acknowledge, name=f"r{number}": stream(url, acknowledge, name, answers))
        for number in range(processes)
    ]
    failed = 0
    for child, read_end in started:
        drain(read_end)
        failed += os.waitpid(child, 0)[1] != 0
    sys.exit(failed)


if __name__ == "__main__":
    _, url, mode, first, second = sys.argv
    schema._scripts()
    {"kill": kill_again_and_again, "crowd": crowd}[mode](url, int(first), int(second))
