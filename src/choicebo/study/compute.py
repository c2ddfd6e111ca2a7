"""What takes long, as pure functions: the record of an optimiser in, plain data out, in this process or another.

``known`` is a posterior of the same answers as bytes, if there is one: it only saves time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile
from typing import TYPE_CHECKING, Any

from choicebo import __version__
from choicebo.study import posterior_file

if TYPE_CHECKING:
    from choicebo.model.engines.base import ProgressCallback
    from choicebo.optimizer import ChoiceOptimizer

State = dict[str, Any]

# What the model depends on; the rest of the settings says how to ask.
_MODEL_SETTINGS = ("latent_dim", "kernel", "engine", "lapse", "correlated", "seed", "baseline")


def next_query(state: State, known: bytes | None = None, progress: ProgressCallback | None = None) -> dict[str, Any]:
    """The question that follows: ``query``, ``latent_dim_history``, and ``posterior`` if a model was used."""
    optimizer = restore(state, known)
    query = optimizer.ask(progress=progress)
    return {"query": query.to_dict(), **_learned(optimizer)}


def stand_in(state: State) -> dict[str, Any]:
    """A question that needs no model: ``query`` and ``latent_dim_history``."""
    optimizer = restore(state)
    query = optimizer.ask(stand_in=True)
    return {"query": query.to_dict(), "latent_dim_history": state["latent_dim_history"]}


def needs_model(state: State, dim: int) -> bool:
    """Whether the question that follows is computed with the model, in a space of ``dim`` cube columns."""
    from choicebo.optimizer import Settings

    answers = sum(step["kind"] in ("tell", "add") for step in state["log"])
    return Settings.from_dict(state["settings"]).needs_model(answers, dim)


def fit(state: State, known: bytes | None = None, progress: ProgressCallback | None = None) -> dict[str, Any]:
    """The model of the answers: ``posterior`` as bytes (None if there are no answers) and ``latent_dim_history``."""
    optimizer = restore(state, known)
    optimizer.fit(progress=progress)
    return _learned(optimizer)


def likely_answers(state: State, query: int, n: int, known: bytes | None = None) -> list[list[int]]:
    """The ``n`` most probable answers to an open question, as positions kept, most probable first."""
    optimizer = restore(state, known)
    asked = next(found for found in optimizer.open_queries if found.id == query)
    # A question without a model is no reason to fit one now; it may be known all the same.
    posterior = optimizer.fitted if asked.latent_dim is None else optimizer.posterior
    if posterior is None:
        # Nothing is known yet. Going through with a guess still compiles what the first fit will need.
        return [[0]]
    probabilities = posterior.choice_probabilities(optimizer.space.encode(asked.options))
    return [list(kept) for kept in list(probabilities)[:n]]


def rehearse(state: State, more: int) -> bool:
    """Go through the question after ``more`` further answers, so that what it needs is compiled before somebody waits.

    The answers are invented and so is the question; only its shapes count. Says whether there was anything to do: shapes that
    this process has met already are not gone through again.
    """
    from choicebo.model.batching import choice_capacity, largest_set, option_capacity
    from choicebo.model.dimension import due
    from choicebo.optimizer.settings import BASELINES

    optimizer = _imagined(state, more)
    data, settings = optimizer.data, optimizer.settings
    if data is None or settings.acquisitions[0] in BASELINES:
        return False
    checks = optimizer.latent_dim_history
    shapes = (option_capacity(data.n_options), choice_capacity(data.choices), largest_set(data.choices), data.dim)
    looks = settings.latent_dim == "auto" and due(data.n_choices, checks[-1]["answers"] if checks else 0)
    model = (settings.kernel, settings.engine, settings.lapse, settings.correlated)
    key = (*shapes, optimizer.latent_dim, looks, settings.acquisition, *model)
    if key in _rehearsed:
        return False
    _rehearsed.add(key)
    # Any of the acquisitions may find the new options of the real question.
    for name in settings.acquisitions:
        optimizer.settings = dataclasses.replace(settings, acquisition=name)
        optimizer.skip(optimizer.ask())
    return True


_rehearsed: set[tuple[Any, ...]] = set()


def _imagined(state: State, more: int) -> ChoiceOptimizer:
    """The optimiser with ``more`` further answers, about as many new options as questions would bring."""
    optimizer = restore(state)
    settings, space = optimizer.settings, optimizer.space
    first = settings.first_queries(space.dim)
    wanted = max(optimizer.n_answers + more, first)
    fresh = space.decode(space.sobol(int(min(wanted * settings.query_size, space.size)), seed=settings.seed + 1))
    shown = [option for query in optimizer.queries for option in query.options]
    for number in range(optimizer.n_answers, wanted):
        new = settings.query_size if number < first else settings.new_per_query
        options, fresh = fresh[:new], fresh[new:]
        for option in shown:
            if len(options) < settings.query_size and option not in options:
                options.append(option)
        if len(options) < 2:
            break
        optimizer.add(options, [0, 1] if len(options) > 2 else [0])
        shown = [*options, *shown]
    return optimizer


def restore(state: State, known: bytes | None = None) -> ChoiceOptimizer:
    """The optimiser of a record, with its model if that is known."""
    from choicebo.optimizer import ChoiceOptimizer

    optimizer = ChoiceOptimizer.from_dict(state)
    if known is not None:
        try:
            posterior, history = posterior_file.from_bytes(known)
        except (EOFError, KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile):
            return optimizer  # a damaged cache costs time, no more
        optimizer.adopt(posterior, history)
    return optimizer


def question_key(state: State) -> str:
    """Tells apart all states in which the next question may differ."""
    return _digest(state)


def posterior_key(state: State) -> str:
    """Tells apart all states in which the model may differ: the answers and the settings of the model."""
    shown = {step["query"]["id"]: step["query"]["options"] for step in state["log"] if step["kind"] == "ask"}
    answers = []
    for step in state["log"]:
        if step["kind"] == "tell":
            answers.append([shown[step["query"]], step["kept"]])
        elif step["kind"] == "add":
            answers.append([step["shown"], step["kept"]])
    settings = {name: state["settings"].get(name) for name in _MODEL_SETTINGS}
    return _digest([state["space"], settings, answers, state["latent_dim_history"]])


def has_answers(state: State) -> bool:
    """Whether there is anything to learn from."""
    return any(step["kind"] in ("tell", "add") for step in state["log"])


def _learned(optimizer: ChoiceOptimizer) -> dict[str, Any]:
    history = [dict(check) for check in optimizer.latent_dim_history]
    fitted = optimizer.fitted
    content = None if fitted is None else posterior_file.to_bytes(fitted, history)
    return {"latent_dim_history": history, "posterior": content}


def _digest(content: Any) -> str:
    text = json.dumps([__version__, content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
