"""Ways to optimise, all behind ``ask`` and ``tell``: ours, the paper's, and their peers.

An oracle sees the objectives' values of the options that it asked for; all others see only which of them were kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from choicebo.acquisition import Acquisition
from choicebo.choices import Choice
from choicebo.errors import InvalidInputError
from choicebo.experiments import baselines
from choicebo.experiments.trials import seed_of
from choicebo.model.covariance import HyperPrior
from choicebo.model.engines import Engine, Variational, question_engine
from choicebo.model.gp import ChoiceGP
from choicebo.optimizer.settings import Settings
from choicebo.space import KnownObjectives, Space

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Setup:
    """What a method may know before its first question."""

    space: Space
    """What can be offered."""
    latent_dim: int
    """How many objectives the person has."""
    reference: Array
    """Reference point of the hypervolume, (n_o,)."""
    query_size: int
    seed: int
    options: Array
    """The initial options as points of the cube, (n, d)."""
    values: Array | None
    """Their objective values, (n, n_o), for oracles only."""
    sets: tuple[tuple[int, ...], ...]
    """The initial sets, as indices into ``options``."""
    kept: tuple[tuple[int, ...], ...]
    """Positions kept in each of them."""

    @property
    def dim(self) -> int:
        """The number of inputs."""
        return int(self.options.shape[1])


class Optimiser(Protocol):
    """A method at work on one problem."""

    def ask(self) -> Array:
        """The options to be shown, or to be evaluated, next: (k, d) in the unit cube."""

    def tell(self, answer: Any) -> None:
        """The answer to the last question: values (k, n_o) for an oracle, else the positions kept."""

    def settings(self) -> dict[str, Any]:
        """What it works with, as JSON values, for the record."""


@dataclass(frozen=True)
class Method:
    """A way to optimise, and how it is presented."""

    name: str
    label: str
    """In tables and figures."""
    make: Callable[[Setup], Optimiser]
    sees_values: bool = False
    needs_botorch: bool = False

    def start(self, setup: Setup) -> Optimiser:
        """Begin to work on a problem."""
        if self.needs_botorch:
            baselines.require(f"The method {self.name}")
        return self.make(setup)


_SOBOL_TRIES = 100
"""In a space of few options, after which one is shown again."""


class Sobol:
    """Options from a scrambled Sobol sequence, whatever the answers."""

    def __init__(self, setup: Setup) -> None:
        self._sequence = qmc.Sobol(setup.dim, rng=np.random.default_rng(setup.seed))
        self._space, self._shown = setup.space, setup.options

    def ask(self) -> Array:
        """The next option of the sequence that is new."""
        for _ in range(_SOBOL_TRIES):
            option = self._space.snap(np.asarray(self._sequence.random(1), dtype=float))
            if not (option == self._shown).all(1).any():
                break
        self._shown = np.vstack([self._shown, option])
        return option

    def tell(self, answer: Any) -> None:
        """Nothing is learned."""

    def settings(self) -> dict[str, Any]:
        """There are none."""
        return {}


class Oracle:
    """A method that sees values: one of those in ``baselines.oracles``."""

    def __init__(self, setup: Setup, acquisition: str, count: int = 1) -> None:
        from choicebo.experiments.baselines import oracles, torch_tools

        if setup.values is None:
            raise InvalidInputError(f"{acquisition} is an oracle and must be given the values of the initial options.")
        self._X, self._Y, self._space = setup.options, setup.values, setup.space
        self._reference, self._seed, self._asked, self._count = setup.reference, setup.seed, 0, count
        self._next, self._seeded = getattr(oracles, acquisition), torch_tools.quiet_and_seeded
        self._settings = {"noise": oracles.NOISE, **torch_tools.SEARCH}

    def ask(self) -> Array:
        """New options."""
        self._asked += 1
        seed = seed_of(self._seed, self._asked)
        with self._seeded(seed):
            options = self._next(self._X, self._Y, self._reference, seed, self._count, self._space.snap)
        self._X = np.vstack([self._X, options])
        return np.asarray(options)

    def tell(self, answer: Any) -> None:
        """Learn its values."""
        self._Y = np.vstack([self._Y, answer])

    def settings(self) -> dict[str, Any]:
        """How hard it looks for the next option."""
        return dict(self._settings)


class PairwiseEubo:
    """BoTorch's PairwiseGP, fed the pairs that choices imply, with queries by qEUBO."""

    def __init__(self, setup: Setup) -> None:
        from choicebo.experiments.baselines import pairwise, torch_tools

        self._tools, self._seeded, self._settings = pairwise, torch_tools.quiet_and_seeded, torch_tools.SEARCH
        self._setup, self._asked, self._unfitted = setup, 0, 0
        self._X = setup.options
        self._choices = [
            (shown, tuple(shown[i] for i in kept)) for shown, kept in zip(setup.sets, setup.kept, strict=True)
        ]
        self._shown: tuple[int, ...] = ()

    def ask(self) -> Array:
        """Options that go best together."""
        self._asked += 1
        seed = seed_of(self._setup.seed, self._asked)
        pairs = self._tools.implied_pairs(self._choices)
        if not pairs:
            return self._show(np.random.default_rng(seed).random((self._setup.query_size, self._setup.dim)))
        with self._seeded(seed):
            query, is_fitted = self._tools.eubo_query(self._X, pairs, self._setup.query_size, seed)
        self._unfitted += not is_fitted
        return self._show(query)

    def tell(self, answer: Any) -> None:
        """Learn which were kept."""
        self._choices.append((self._shown, tuple(self._shown[i] for i in answer)))

    def settings(self) -> dict[str, Any]:
        """How hard it looks for the next option, and how often BoTorch gave the fit up."""
        return {**self._settings, "questions_without_fit": self._unfitted}

    def _show(self, query: Array) -> Array:
        query = self._setup.space.snap(query)
        shown = []
        for option in query:
            known = np.flatnonzero(np.all(option == self._X, axis=1))
            if not known.size:
                self._X = np.vstack([self._X, option])
            shown.append(int(known[0]) if known.size else len(self._X) - 1)
        self._shown = tuple(shown)
        return query


class Dueling:
    """Dueling scalarised Thompson sampling: of two options the person says which is better, in each objective by itself."""

    def __init__(self, setup: Setup) -> None:
        from choicebo.experiments.baselines import dueling

        if setup.values is None:
            raise InvalidInputError("dueling compares objectives and must be given the values of the initial options.")
        self._tools, self._setup, self._asked = dueling, setup, 0
        self._X, self._Y = setup.options, setup.values
        self._comparisons: list[list[Choice]] = [[] for _ in self._Y.T]
        for rows in setup.sets:
            self._compare(rows)

    def _compare(self, rows: Sequence[int]) -> None:
        for known, values in zip(self._comparisons, self._Y.T, strict=True):
            known += self._tools.compared(rows, values)

    def ask(self) -> Array:
        """Two new options."""
        self._asked += 1
        seed = seed_of(self._setup.seed, self._asked)
        draws = self._tools.believed(self._X, self._comparisons, self._tools.one_objective(), seed)
        options = self._tools.duel(draws, self._setup.space, self._X, seed)
        self._X = np.vstack([self._X, options])
        return options

    def tell(self, answer: Any) -> None:
        """Learn the order of their values, in each objective."""
        self._Y = np.vstack([self._Y, answer])
        self._compare(range(len(self._Y) - len(answer), len(self._Y)))

    def settings(self) -> dict[str, Any]:
        """What each objective is learned with."""
        return {"model": "one for each objective", "draws": self._tools.DRAWS}


@dataclass(frozen=True)
class PapersSettings(Settings):
    """The paper's configuration, where it differs from ours: every answer is meant, options have nothing of their own, the
    hyperparameters have hardly a prior, and a variational approximation learns them."""

    acquisition: str | Acquisition = "ucb"
    engine: str | Engine = "ess"
    new_per_query: int = 1
    companions: str = "dominated"
    lapse: float = 0.0

    def _model(self, latent_dim: int, engine: str | Engine, known: KnownObjectives | None = None) -> ChoiceGP:
        learned_by = replace(question_engine("ess"), learner=Variational())  # type: ignore[type-var]
        ours = super()._model(latent_dim, learned_by, known)
        return replace(ours, nugget=_JITTER, prior=HyperPrior(lengthscale_spread=_WIDE, scale_spread=_WIDE))

    def to_dict(self) -> dict[str, Any]:
        """What a report says of it."""
        return super().to_dict() | {"learner": "vi", "nugget": _JITTER, "prior_spreads": _WIDE}


_JITTER = 1e-5
"""Of the variance: enough to keep covariances invertible in single precision."""
_WIDE = 3.0
"""Spread of the hyperparameters' logarithms: two standard deviations are a factor of 400."""


class Choices:
    """``ChoiceOptimizer`` with some settings; the number of hidden objectives is known, as in the paper."""

    def __init__(self, setup: Setup, kind: type[Settings] = Settings, **settings: Any) -> None:
        from choicebo.optimizer import ChoiceOptimizer

        self._space, self._flagged = setup.space, 0
        chosen = kind(
            latent_dim=setup.latent_dim,
            query_size=setup.query_size,
            seed=setup.seed,
            initial_queries=1,  # the choices that are given count as answers
            **settings,
        )
        self._optimizer = ChoiceOptimizer(self._space, chosen)
        for shown, kept in zip(setup.sets, setup.kept, strict=True):
            self._optimizer.add(self._space.decode(setup.options[list(shown)]), list(kept))

    def ask(self) -> Array:
        """The options of the next question."""
        self._query = self._optimizer.ask()
        model = self._optimizer.known_posterior
        self._flagged += model is not None and bool(model.diagnostics.problems)
        return self._space.encode(self._query.options)

    def tell(self, answer: Any) -> None:
        """Learn which were kept."""
        self._optimizer.tell(self._query, list(answer))

    def settings(self) -> dict[str, Any]:
        """Those of the optimiser, except its seed, and how many of its fits its diagnostics flagged."""
        stored = self._optimizer.settings.to_dict() | {"fits_flagged": self._flagged}
        return {key: value for key, value in stored.items() if key != "seed"}


_ALL = (
    Method("default", "choicebo (default)", Choices),
    Method("default-1", "choicebo (default, one new option)", partial(Choices, new_per_query=1)),
    Method("ucb", "choicebo, ucb", partial(Choices, acquisition="ucb", new_per_query=1)),
    Method(
        "paper",
        "the paper's configuration",
        partial(Choices, kind=PapersSettings),
    ),
    Method("pairwise", "PairwiseGP + qEUBO", PairwiseEubo, needs_botorch=True),
    Method("parego", "Oracle-ParEGO", partial(Oracle, acquisition="parego"), sees_values=True, needs_botorch=True),
    Method("nehvi", "Oracle-qLogNEHVI", partial(Oracle, acquisition="nehvi"), sees_values=True, needs_botorch=True),
    *(
        Method(
            f"{name}-2",
            f"{label}, two new options",
            partial(Oracle, acquisition=name, count=2),
            sees_values=True,
            needs_botorch=True,
        )
        for name, label in (("parego", "Oracle-ParEGO"), ("nehvi", "Oracle-qLogNEHVI"))
    ),
    Method("dueling", "dueling scalarised Thompson sampling", Dueling, sees_values=True),
    Method("sobol", "Sobol", Sobol),
    *(
        Method(name, f"choicebo, {name} alone", partial(Choices, acquisition=name))
        for name in ("ehvi", "variation", "thompson", "scalarised_thompson", "information", "random")
    ),
)

METHODS: dict[str, Method] = {each.name: each for each in _ALL}


def method(name: str) -> Method:
    """The method of that name; ``METHODS`` lists them.

    >>> method("parego").label
    'Oracle-ParEGO'
    """
    try:
        return METHODS[name]
    except KeyError:
        raise InvalidInputError(f"No method is called {name!r}; choose some of {', '.join(METHODS)}.") from None
