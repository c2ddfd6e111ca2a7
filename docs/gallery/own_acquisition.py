# %% [markdown]
# # An acquisition of your own
#
# An acquisition decides which new options a question shows. The default pushes out the whole set of best options, from one extreme to the other. Suppose that you do not care for the extremes: you look for one compromise without a weak side. Then questions about extremes are wasted.
#
# An acquisition is a small class. `prepare` is called once for each question; `score` says how good points would be, given draws of the hidden objectives. This one averages over the draws how far the weakest objective of a point is from the best value known.

# %%
# %matplotlib inline
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

import choicebo as cb
from choicebo.acquisition import Prepared
from choicebo.pareto import non_dominated


@dataclass(frozen=True)
class Balanced:
    """Show the option that is expected to have no weak side."""

    name: str = "balanced"
    sentence: str = "the new option is expected to have no weak side"
    nearby: bool = False

    def prepare(self, known, seed):
        """Look at all draws; note where each objective stands. Values of two objectives have no common scale, hence the spread."""
        latent = known.draws.latent  # (draws, options, n_e)
        best, spread = (
            latent.max(axis=1).mean(axis=0),
            latent.std(axis=1).mean(axis=0),
        )
        return Prepared(known.draws.marginals(seed), (best, spread))

    def score(self, state, latent):
        """How far the weakest objective is expected to be from its best: latent (n, draws, n_e) -> (n,)."""
        best, spread = state
        return ((latent - best) / spread).min(axis=2).mean(axis=1)


# %% [markdown]
# The optimiser takes it as an object. The `sentence` becomes part of the reason that the person reads.

# %%
space = cb.Space([cb.Real(name, 0, 1) for name in "uvwxy"])


def objectives(option):
    """Two hidden objectives, each best at a place of its own; larger is better."""
    point = np.array(list(option.values()))
    return -np.sum((point - [0.8, 0.7, 0.3, 0.4, 0.6]) ** 2), -np.sum(
        (point - [0.2, 0.3, 0.7, 0.4, 0.6]) ** 2
    )


def person(options):
    """Positions of the options that the person keeps."""
    return non_dominated([objectives(option) for option in options]).nonzero()[
        0
    ]


def reached(acquisition, questions=15, seed=0):
    """The weakest objective of the best compromise shown, after each question."""
    optimizer = cb.ChoiceOptimizer(
        space,
        acquisition=acquisition,
        latent_dim=2,
        engine="laplace",
        query_size=4,
        seed=seed,
    )
    best, curve = -np.inf, []
    for _ in range(questions):
        question = optimizer.ask()
        optimizer.tell(question, person(question.options))
        best = max(
            best, *(min(objectives(option)) for option in question.options)
        )
        curve.append(best)
    return curve, question


# %% [markdown]
# ## Is it any good?
#
# Compare it with what comes with choicebo, and with no model at all. It should do better at what it was made for, the best compromise, and may do worse at everything else. Three runs each show a large difference and hide a small one.

# %%
names = {"balanced": Balanced(), "default": "default", "sobol": "sobol"}
curves = {
    name: np.array([reached(given, seed=seed)[0] for seed in range(3)])
    for name, given in names.items()
}

figure = Figure(figsize=(6.4, 3.6), layout="constrained")
axes = figure.subplots()
for name, runs in curves.items():
    (line,) = axes.plot(range(1, runs.shape[1] + 1), runs.mean(0), label=name)
    axes.fill_between(
        range(1, runs.shape[1] + 1),
        runs.min(0),
        runs.max(0),
        color=line.get_color(),
        alpha=0.15,
    )
axes.set(xlabel="questions", ylabel="weakest objective of the best compromise")
axes.legend(frameon=False)
figure

# %%
for name, runs in curves.items():
    print(
        f"{name:10s} after {runs.shape[1]} questions: {runs[:, -1].mean():.2f}"
    )
print(reached(Balanced(), questions=6)[1].reason)

# %% [markdown]
# To compare acquisitions properly, on the paper's problems and with many repetitions, give yours a name in `choicebo.acquisition.ACQUISITIONS` and run `choicebo reproduce bo --methods`: see [how to reproduce the evidence](../how-to/reproduce.md).
# A `score_gradient` makes the search faster; the [contributing guide](https://github.com/choicebo/choicebo/blob/main/CONTRIBUTING.md) says how.
