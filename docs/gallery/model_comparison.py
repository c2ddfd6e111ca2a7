# %% [markdown]
# # Model comparison by leave-one-out
#
# How many objectives does a person weigh? How smooth are they? Does the model of several objectives explain the answers better than one utility, which is what most preference learning assumes? Leave-one-out cross-validation answers such questions: it scores how probable
# each answer was, given all others.
#
# The person of this notebook weighs two objectives that conflict, as in the paper's toy example.

# %%
# %matplotlib inline
import dataclasses

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import choicebo as cb
from choicebo import plots
from choicebo.experiments.toy import toy_dataset

toy = toy_dataset(n_choices=80, set_size=3, n_inputs=80, n_test=100, seed=1)
data = toy.train
data

# %% [markdown]
# ## One, two or three hidden objectives?
#
# `select_latent_dim` fits each number and chooses the smallest that no larger one beats by more than a standard error.

# %%
model = cb.ChoiceGP(engine="laplace")
selection = cb.select_latent_dim(data, max_dim=3, model=model, stop_early=False)
selection

# %%
figure = plots.dimension_scores(selection)
figure

# %% [markdown]
# One utility falls far behind: no single number orders options of which each is best in something.
#
# ## Which kernel?
#
# Any two models of the same data can be compared. What counts is the *paired* difference: most answers are easy or hard for all models alike, so the scores go up and down together and their difference is known far better than either.

# %%
scores = {}
for kernel in ("matern12", "matern32", "matern52", "rbf"):
    fitted = dataclasses.replace(
        model, latent_dim=selection.best, kernel=kernel
    ).fit(data, seed=0)
    scores[kernel] = fitted.loo()

leader = max(scores, key=lambda kernel: scores[kernel].elpd)
rows = []
for kernel, score in scores.items():
    difference = score.pointwise - scores[leader].pointwise
    rows.append(
        {
            "kernel": kernel,
            "elpd": score.elpd,
            "se": score.se,
            "difference": difference.sum(),
            "se of difference": difference.std(ddof=1)
            * np.sqrt(len(difference)),
            "worst k-hat": score.khat.max(),
        }
    )
pd.DataFrame(rows).set_index("kernel").round(2)

# %% [markdown]
# ## Does the score tell the truth?
#
# The toy has a hundred more answers that no model has seen. Leave-one-out from eighty answers should rank the models as these do.

# %%
found = []
for latent_dim, posterior in selection.posteriors.items():
    predicted = posterior.predict_choices(toy.test_sets)
    accuracy = np.mean(
        [p == kept for p, kept in zip(predicted, toy.test_kept, strict=True)]
    )
    found.append(
        (
            latent_dim,
            selection.scores[latent_dim].elpd / data.n_choices,
            accuracy,
        )
    )

comparison = Figure(figsize=(5.2, 3.2), layout="constrained")
axes = comparison.subplots()
for latent_dim, score, accuracy in found:
    axes.plot(score, accuracy, "o", ms=9)
    axes.annotate(f"  {latent_dim}", (score, accuracy), va="center")
axes.set(
    xlabel="leave-one-out score per answer",
    ylabel="exact predictions, unseen answers",
    title="hidden objectives",
)
comparison

# %% [markdown]
# With ArviZ installed, `posterior.to_arviz()` goes into `az.compare` and `az.plot_khat` as any other model does: see [how to use it with ArviZ](../how-to/use-with-arviz.md).
