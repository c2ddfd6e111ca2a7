"""``ChoiceOptimizer``: asks a person the next question and learns from the answer."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo._runtime import one_blas_thread
from choicebo.acquisition import ACQUISITIONS
from choicebo.acquisition.propose import DRAWS, Proposal, propose
from choicebo.acquisition.space_filling import random_options, spread_options
from choicebo.choices import ChoiceData
from choicebo.errors import DataError, InvalidInput
from choicebo.model.engines import question_engine
from choicebo.model.engines.base import ProgressCallback
from choicebo.model.gp import ChoiceGP
from choicebo.model.posterior import Posterior
from choicebo.optimizer import log as logbook
from choicebo.optimizer import looks
from choicebo.optimizer.log import Added, Asked, Entry, Skipped, Told
from choicebo.optimizer.looks import BackgroundLook, Check
from choicebo.optimizer.query import Query
from choicebo.optimizer.settings import Settings
from choicebo.optimizer.stand_in import stand_in as stand_in_options
from choicebo.space import Option, Searchable, from_dict

Array = NDArray[np.float64]

FORMAT, VERSION = "choicebo-optimizer", 1
FIRST_DIM = 2
"""Latent dimensions until there are enough answers to tell."""


class ParetoOption(NamedTuple):
    """An option, and how probable it is that none of the others seen beats it."""

    option: Option
    probability: float


class ChoiceOptimizer:
    """Learns from "I keep these" and asks the next question.

    The next question is a pure function of the settings and of what happened: saved and restored, or rebuilt elsewhere from
    the same entries, an optimiser asks the same question.

    >>> import choicebo as cb
    >>> optimizer = cb.ChoiceOptimizer(cb.Space([cb.Real("temperature", 150, 220)]), seed=1)
    >>> query = optimizer.ask()
    >>> len(query.options), query.strategy
    (5, 'sobol')
    >>> optimizer.tell(query, kept=[0, 2])
    >>> optimizer.n_answers
    1
    """

    def __init__(self, space: Searchable, settings: Settings | None = None, **keywords: Any) -> None:
        if not isinstance(space, Searchable):
            raise InvalidInput(f"space is a {type(space).__name__}; give a Space or a Catalogue")
        if settings is not None and keywords:
            raise InvalidInput("give either Settings or keyword arguments, not both")
        self.space = space
        self.settings = Settings.from_dict(keywords) if settings is None else settings
        self._baseline = None if self.settings.baseline is None else space.validate(self.settings.baseline)
        if space.size < 2:
            raise InvalidInput("the space holds a single option; a choice needs at least two")
        self._log: list[Entry] = []
        self._queries: dict[int, Query] = {}
        self._closed: dict[int, str] = {}
        self._next_id = 1
        self._checks: list[Check] = []
        """The looks at the number of latent dimensions that count after these answers."""
        self._look: BackgroundLook | None = None
        """The latest look that was begun."""
        self._encoded: dict[str, Array] = {}
        self._gathered: tuple[list[Entry], ChoiceData | None] | None = None
        self._fitted: tuple[tuple[str, int], Posterior] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_look": None}  # a thread cannot be copied, and what it finds can be found again

    # ---- the loop

    def ask(
        self, *, stand_in: bool = False, look_beside: bool = True, progress: ProgressCallback | None = None
    ) -> Query:
        """Another question. Those already open stay open, and nothing similar to their new options is proposed.

        Args:
            stand_in: Ask what needs no model and is there at once: new options that fill the space, beside kept ones.
            look_beside: With ``latent_dim="auto"``: begin the look at the number of hidden objectives that the question after the
                next answer needs, in a thread of its own. Without it, that question computes it.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.
        """
        seed = _seed_of(self.settings.seed, self._next_id)
        proposal, latent_dim = self._proposal(seed, progress, stand_in)
        order = np.random.default_rng(seed).permutation(len(proposal.points))
        query = Query(
            id=self._next_id,
            options=self.space.decode(proposal.points[order]),
            reason=proposal.reason,
            new=tuple(bool(flag) for flag in proposal.new[order]),
            strategy="+".join(proposal.found_by[at] for at in order if at < len(proposal.found_by))
            or proposal.strategy,
            latent_dim=latent_dim,
        )
        self._append(Asked(query))
        self._next_id += 1
        if look_beside and self.settings.needs_model(self.n_answers + 1, self.space.dim):
            self._begin_look(self.n_answers + 1)
        return query

    def tell(self, query: Query | int, kept: Sequence[int]) -> None:
        """The answer: the positions in ``query.options`` of those that no other one beats.

        An empty list means "none of these": with a baseline, that it beats all of them; without one, it is a skip.
        """
        asked = self._open(query)
        positions = logbook.check_positions(kept, len(asked.options))
        if not positions and self._baseline is None:
            self._append(Skipped(asked.id))
        else:
            self._append(Told(asked.id, positions))

    def skip(self, query: Query | int) -> None:
        """Leave a question unanswered."""
        self._append(Skipped(self._open(query).id))

    def undo(self, n: int = 1) -> int:
        """Take back the latest ``n`` of answers, skips and additions; a question so reopened can be answered again.

        Gives the number of entries taken back.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InvalidInput(f"n is {n!r}; give a whole number of at least 1")
        places = [at for at, entry in enumerate(self._log) if not isinstance(entry, Asked)]
        if len(places) < n:
            raise InvalidInput(f"there are {len(places)} answers, skips and additions; {n} cannot be taken back")
        for at in reversed(places[-n:]):
            entry = self._log.pop(at)
            if isinstance(entry, Told | Skipped):
                del self._closed[entry.query]
        self._checks = looks.in_use(self._checks, self.n_answers)
        return n

    def add(self, shown: Sequence[Any], kept: Sequence[int]) -> None:
        """A choice from elsewhere: ``kept`` are positions in ``shown``. Pairs, best-of-k and subsets of any size will do."""
        options = tuple(self.space.validate(option) for option in shown)
        if len(options) < 2:
            raise DataError(f"{len(options)} options were shown; a choice needs at least two")
        positions = logbook.check_positions(kept, len(options))
        if not positions:
            raise DataError("nothing was kept; a choice keeps at least one option")
        entry = Added(options, positions)
        # Refuses two equal options of which one was kept and the other not.
        self._as_data([self._choice(entry)])
        self._append(entry)

    # ---- what is known

    @property
    def open_queries(self) -> tuple[Query, ...]:
        """Questions that were asked and neither answered nor skipped."""
        return tuple(query for number, query in self._queries.items() if number not in self._closed)

    @property
    def queries(self) -> tuple[Query, ...]:
        """All questions asked."""
        return tuple(self._queries.values())

    @property
    def log(self) -> tuple[Entry, ...]:
        """What happened, in order."""
        return tuple(self._log)

    @property
    def n_answers(self) -> int:
        """The number of choices, those from elsewhere included."""
        return sum(isinstance(entry, Told | Added) for entry in self._log)

    @property
    def needs_model(self) -> bool:
        """Whether the next question is computed with the model; the first ones are not, and those of a baseline."""
        return self.settings.needs_model(self.n_answers, self.space.dim)

    @property
    def data(self) -> ChoiceData | None:
        """All answers as data for a model; None while there are none."""
        if self._gathered is None or self._gathered[0] != self._log:
            choices = self._choices()
            self._gathered = (list(self._log), self._as_data(choices) if choices else None)
        return self._gathered[1]

    @property
    def latent_dim(self) -> int:
        """Latent dimensions of the model in use."""
        if self.settings.latent_dim != "auto":
            return int(self.settings.latent_dim)
        return int(self._checks[-1]["latent_dim"]) if self._checks else FIRST_DIM

    @property
    def latent_dim_history(self) -> tuple[dict[str, Any], ...]:
        """With ``latent_dim="auto"``: each look at it that counts now.

        Each says the number of ``answers`` it learned from, the ``latent_dim`` found, the ``reason`` in a sentence, and the
        number of answers ``used_from`` which on it counts.
        """
        return tuple(dict(check) for check in self._checks)

    @property
    def posterior(self) -> Posterior | None:
        """The model of all answers, fitted when first asked for; None while there are none."""
        return self.fit()

    def fit(self, *, progress: ProgressCallback | None = None) -> Posterior | None:
        """The model of all answers; it is fitted only if something changed."""
        data = self.data
        if data is None:
            return None
        self._take_look(progress)
        fingerprint = (data.fingerprint, self.latent_dim)
        if self._fitted is None or self._fitted[0] != fingerprint:
            self._fitted = (fingerprint, self._model(self.latent_dim).fit(data, self.settings.seed, progress=progress))
        return self._fitted[1]

    @property
    def fitted(self) -> Posterior | None:
        """The latest model that was fitted, if any; it may be older than the latest answer. Never computes."""
        return None if self._fitted is None else self._fitted[1]

    def adopt(self, posterior: Posterior, latent_dim_history: Sequence[Mapping[str, Any]]) -> bool:
        """Use a model that was fitted elsewhere, if it is of these answers; says whether it is."""
        data = self.data
        if data is None or posterior.data.fingerprint != data.fingerprint:
            return False
        self._checks = looks.in_use(latent_dim_history, self.n_answers)
        self._fitted = ((data.fingerprint, posterior.latent_dim), posterior)
        return True

    def look(self, answers: int, *, progress: ProgressCallback | None = None) -> Check:
        """What the first ``answers`` answers say about the number of hidden objectives. Changes nothing here.

        A study lets it be computed elsewhere and adds what it found to the record.
        """
        return self._look_at(answers)[1](progress)

    def pareto_set(self, threshold: float = 0.5) -> list[ParetoOption]:
        """The options seen so far that are probably beaten by no other, the most probable first.

        Empty only before the first answer.
        """
        posterior = self.posterior
        if posterior is None:
            return []
        probability = posterior.pareto_probability(posterior.options)
        order = np.argsort(-probability, kind="stable")
        kept = [row for row in order if probability[row] >= min(threshold, probability.max())]
        options = self.space.decode(posterior.options[kept])
        return [ParetoOption(o, float(p)) for o, p in zip(options, probability[kept], strict=True)]

    # ---- saved and restored

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible record from which :meth:`from_dict` goes on exactly."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "space": self.space.to_dict(),
            "settings": self.settings.to_dict(),
            "next_id": self._next_id,
            "log": [logbook.entry_to_dict(entry) for entry in self._log],
            "latent_dim_history": [dict(check) for check in self._checks],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> ChoiceOptimizer:
        """The optimiser that :meth:`to_dict` described; it asks the same next question."""
        if not isinstance(record, Mapping) or record.get("format") != FORMAT:
            raise DataError(f'this is not a record of an optimiser: its "format" must be {FORMAT!r}')
        if record.get("version") != VERSION:
            raise DataError(f"the record has version {record.get('version')!r}; this release reads version {VERSION}")
        try:
            space, settings = from_dict(record["space"]), Settings.from_dict(record["settings"])
            entries = list(map(logbook.entry_from_dict, record["log"]))
            next_id, checks = int(record["next_id"]), [dict(check) for check in record["latent_dim_history"]]
        except KeyError as error:
            raise DataError(f"the record of an optimiser lacks {error.args[0]!r}") from None
        restored = cls(space, settings)
        for entry in entries:
            restored._replay(entry)
        restored._next_id = max([next_id, *(query.id + 1 for query in restored.queries)])
        restored._checks = looks.in_use(checks, restored.n_answers)
        return restored

    def _replay(self, entry: Entry) -> None:
        match entry:
            case Asked(query):
                if query.id in self._queries:
                    raise DataError(f"the log asks question {query.id} twice")
                self._append(entry)
            case Told(number, kept):
                self.tell(number, kept)
            case Skipped(number):
                self.skip(number)
            case Added(shown, kept):
                self.add(shown, kept)

    # ---- inside

    def _append(self, entry: Entry) -> None:
        self._log.append(entry)
        match entry:
            case Asked(query):
                self._queries[query.id] = query
            case Told(number, _):
                self._closed[number] = "answered"
            case Skipped(number):
                self._closed[number] = "skipped"

    def _proposal(self, seed: int, progress: ProgressCallback | None, stand_in: bool) -> tuple[Proposal, int | None]:
        settings = self.settings
        names = settings.acquisitions
        if not self.needs_model:
            fill = random_options if names == ("random",) else spread_options
            return fill(self.space, settings.query_size, self._shown_points(), settings.seed, self._next_id), None
        if stand_in:
            return self._stand_in(), None
        posterior = self.fit(progress=progress)
        assert posterior is not None
        everywhere = self._shown_points()
        pending = self._points_of([option for query in self.open_queries for option in query.options])
        with one_blas_thread():
            proposal = propose(
                posterior.draws.thinned(DRAWS),
                self.space,
                tuple(ACQUISITIONS[name] for name in names),
                size=settings.query_size,
                new_count=settings.new_per_query,
                companions=settings.companions,
                pending=pending,
                avoid=everywhere[:0] if settings.allow_repeats else everywhere,
                seed=seed,
                found_by=self._found_by(names),
            )
        return proposal, posterior.latent_dim

    def _found_by(self, names: Sequence[str]) -> dict[str, Array]:
        """The new options of all questions by the acquisition that found them."""
        found: dict[str, list[Option]] = {name: [] for name in names}
        for query in self.queries:
            finders = query.strategy.split("+")
            new = [option for option, is_new in zip(query.options, query.new, strict=True) if is_new]
            if len(finders) == 1:
                finders *= len(new)
            for finder, option in zip(finders, new, strict=False):
                if finder in found:
                    found[finder].append(option)
        return {name: self._points_of(options) for name, options in found.items()}

    def _stand_in(self) -> Proposal:
        settings = self.settings
        return stand_in_options(
            self.space,
            self._choices(),
            size=settings.query_size,
            new_count=settings.new_per_query,
            seen=self._shown_points(),
            aside=self._points_of([] if self._baseline is None else [self._baseline]),
            seed=settings.seed,
            number=self._next_id,
        )

    def _model(self, latent_dim: int) -> ChoiceGP:
        settings = self.settings
        return ChoiceGP(
            latent_dim,
            kernel=settings.kernel,
            engine=question_engine(settings.engine),
            lapse=settings.lapse,
            correlated=settings.correlated,
        )

    def _take_look(self, progress: ProgressCallback | None) -> None:
        """With ``latent_dim="auto"``: use the look that counts from these answers on, waited for if it is not finished."""
        look = self._begin_look(self.n_answers)
        if look is None:
            return
        try:
            self._checks.append(look.result(progress))
        except BaseException:
            look.stop()
            self._look = None  # so that the next question tries again
            raise

    def _begin_look(self, answers: int) -> BackgroundLook | None:
        """The look that counts from so many answers on, under way or finished; None if there is no new one."""
        due = looks.missing(answers, self._checks) if self.settings.latent_dim == "auto" else None
        if due is None:
            return None
        key, work = self._look_at(due)
        if self._look is None or self._look.key != key:
            if self._look is not None:
                self._look.stop()
            self._look = BackgroundLook(key, work)
        return self._look

    def _look_at(self, answers: int) -> tuple[tuple[str, int], Callable[[ProgressCallback | None], Check]]:
        """What a look at the first ``answers`` answers depends on, and what computes it."""
        data, current = self._as_data(self._choices()[:answers]), self.latent_dim
        key = (data.fingerprint, current)
        known = self._fitted[1] if self._fitted is not None and self._fitted[0] == key else None
        return key, functools.partial(looks.look, data, current, self._model(current), self.settings.seed, known)

    def _open(self, query: Query | int) -> Query:
        number = query.id if isinstance(query, Query) else query
        asked = self._queries.get(number) if isinstance(number, int) else None
        if asked is None:
            raise InvalidInput(f"there is no question {number!r}; give a query that this optimiser asked, or its id")
        state = self._closed.get(asked.id)
        if state is not None:
            raise InvalidInput(f"question {asked.id} is {state} already; undo() takes an answer back")
        return asked

    def _choices(self) -> list[tuple[Array, tuple[int, ...]]]:
        """All answers as (points shown, positions kept)."""
        found = []
        for entry in self._log:
            if isinstance(entry, Told):
                found.append(self._answer(self._queries[entry.query], entry.kept))
            elif isinstance(entry, Added):
                found.append(self._choice(entry))
        return found

    def _choice(self, entry: Added) -> tuple[Array, tuple[int, ...]]:
        return self._points_of(entry.shown), entry.kept

    def _answer(self, query: Query, kept: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
        options = list(query.options)
        if not kept:
            assert self._baseline is not None
            if self._baseline not in options:
                options.append(self._baseline)
            kept = (options.index(self._baseline),)
        return self._points_of(options), kept

    def _as_data(self, choices: Sequence[tuple[Array, tuple[int, ...]]]) -> ChoiceData:
        return ChoiceData.from_sets([points for points, _ in choices], [kept for _, kept in choices])

    def _shown_points(self) -> Array:
        """Every option that appeared in a question or an answer, and the baseline: (n, d), distinct."""
        options: list[Option] = [] if self._baseline is None else [self._baseline]
        for entry in self._log:
            if isinstance(entry, Asked):
                options.extend(entry.query.options)
            elif isinstance(entry, Added):
                options.extend(entry.shown)
        points = self._points_of(options)
        return np.unique(points, axis=0) if len(points) else points

    def _points_of(self, options: Sequence[Option]) -> Array:
        """Cube points (n, d) of options; each is encoded once."""
        keys = [json.dumps(option, sort_keys=True, default=str) for option in options]
        missing = {key: option for key, option in zip(keys, options, strict=True) if key not in self._encoded}
        if missing:
            for key, point in zip(missing, self.space.encode(list(missing.values())), strict=True):
                self._encoded[key] = point + 0.0
        return np.array([self._encoded[key] for key in keys]).reshape(len(keys), self.space.dim)


def _seed_of(seed: int, number: int) -> int:
    """The seed of question ``number``: the same whenever and wherever it is asked."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0] % 2**31)
