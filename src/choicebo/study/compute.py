"""What takes long, as pure functions: the record of an optimiser in, plain data out, in this process or another.

A question or a model for which a look at the number of latent dimensions is missing in the record computes it first: who
computes it beside and adds it to the record only saves time. ``known`` is a posterior of the same answers as bytes, if there
is one: it saves time, too.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

from choicebo import __version__
from choicebo.errors import ConvergenceWarning
from choicebo.study import posterior_file

if TYPE_CHECKING:
    from choicebo.model.engines.base import ProgressCallback
    from choicebo.optimizer import ChoiceOptimizer

State = dict[str, Any]

log = logging.getLogger("choicebo.study")

# What the model depends on; the rest of the settings says how to ask.
_MODEL_SETTINGS = ("latent_dim", "kernel", "engine", "lapse", "correlated", "seed", "baseline")


def load_numerics() -> None:
    """Load what every computation needs; it takes about a second."""
    import scipy.stats.qmc  # noqa: F401

    import choicebo.optimizer  # noqa: F401


def be_ready() -> None:
    """Make a process ready that does nothing but compute: what a first question needs is loaded before it is asked for.

    The compiled code is loaded in a thread: it may have to be compiled first, and questions without a model do not wait for that.
    """
    warnings.simplefilter("ignore", ConvergenceWarning)  # status and result tell it to the person
    load_numerics()
    threading.Thread(target=_prepare, name="choicebo-prepare", daemon=True).start()


def _prepare() -> None:
    from choicebo.model import compiling

    try:
        compiling.prepare()
    except Exception as error:  # the first fit meets it again, and there somebody is told
        log.info("The compiled code could not be loaded: %r", error)


def next_query(state: State, known: bytes | None = None, progress: ProgressCallback | None = None) -> dict[str, Any]:
    """The question that follows: ``query``, ``latent_dim_history``, and ``posterior`` if a model was used."""
    optimizer = restore(state, known)
    query = optimizer.ask(look_beside=False, progress=progress)
    return {"query": query.to_dict(), **_learned(optimizer)}


def stand_in(state: State) -> dict[str, Any]:
    """A question that needs no model: ``query`` and ``latent_dim_history``."""
    optimizer = restore(state)
    query = optimizer.ask(stand_in=True)
    return {"query": query.to_dict(), "latent_dim_history": state["latent_dim_history"]}


def needs_model(state: State, dim: int, more: int = 0) -> bool:
    """Whether the question after ``more`` further answers is computed with the model, in a space of ``dim`` cube columns."""
    from choicebo.optimizer import Settings

    return Settings.from_dict(state["settings"]).needs_model(_answers(state) + more, dim)


def missing_look(state: State, more: int = 0) -> int | None:
    """The look at the number of latent dimensions that counts ``more`` answers on and that the record lacks.

    It is named by the number of answers that it learns from; None if there is none.
    """
    from choicebo.optimizer import looks

    if state["settings"].get("latent_dim", "auto") != "auto":
        return None
    return looks.missing(_answers(state) + more, state["latent_dim_history"])


def look(
    state: State, answers: int, known: bytes | None = None, progress: ProgressCallback | None = None
) -> dict[str, Any]:
    """A look at the number of latent dimensions that learns from the first ``answers`` answers, as the record keeps it."""
    return restore(state, known).look(answers, progress=progress)


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
        return []
    probabilities = posterior.choice_probabilities(optimizer.space.encode(asked.options))
    return [list(kept) for kept in list(probabilities)[:n]]


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
    """Cache key of the model: the answers and what the model depends on besides."""
    return _model_key(state, _answers(state))


def look_key(state: State, answers: int) -> str:
    """Cache key of a look at the number of latent dimensions that learns from the first ``answers`` answers."""
    return _model_key(state, answers)


def _model_key(state: State, first: int) -> str:
    shown = {step["query"]["id"]: step["query"]["options"] for step in state["log"] if step["kind"] == "ask"}
    answers = []
    for step in state["log"]:
        if step["kind"] == "tell":
            answers.append([shown[step["query"]], step["kept"]])
        elif step["kind"] == "add":
            answers.append([step["shown"], step["kept"]])
    settings = {name: state["settings"].get(name) for name in _MODEL_SETTINGS}
    return _digest([state["space"], settings, answers[:first], state["latent_dim_history"]])


def has_answers(state: State) -> bool:
    """Whether there is anything to learn from."""
    return _answers(state) > 0


def _answers(state: State) -> int:
    return sum(step["kind"] in ("tell", "add") for step in state["log"])


def _learned(optimizer: ChoiceOptimizer) -> dict[str, Any]:
    history = [dict(check) for check in optimizer.latent_dim_history]
    fitted = optimizer.fitted
    content = None if fitted is None else posterior_file.to_bytes(fitted, history)
    return {"latent_dim_history": history, "posterior": content}


def _digest(content: Any) -> str:
    text = json.dumps([__version__, content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
