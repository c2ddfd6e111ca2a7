# %% [markdown]
# # A panel of tasters
#
# Four people taste lemonades with different amounts of sugar, lemon and mint. Do they agree? If three do and one does not, one recipe will not please all of them, and the average of their models would please nobody.
#
# A study keeps who answered what. It can learn from everybody together, from each person alone, or from all of them as people whose tastes are related.

# %%
# %matplotlib inline
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import choicebo as cb
from choicebo.pareto import non_dominated

space = cb.Space(
    [
        cb.Integer("sugar", 20, 90, unit="g/l"),
        cb.Integer("lemon", 20, 100, unit="ml/l"),
        cb.Integer("mint", 0, 10, unit="leaves"),
    ]
)

# %% [markdown]
# ## The tasters
#
# Ann, Ben and Cleo like their lemonade fresh and balanced, each in their own way; Dan has a sweet tooth. All of them are simulated, and none of them is quite consistent.


# %%
ideal_sweetness = {"Ann": 0.5, "Ben": 0.6, "Cleo": 0.75, "Dan": 1.6}
rng = np.random.default_rng(0)


def taste(name, drink):
    """Balance and freshness as a taster perceives them today; larger is better."""
    balance = -abs(
        np.log(drink["sugar"] / drink["lemon"] / ideal_sweetness[name])
    )
    freshness = drink["mint"] / 10 - abs(drink["lemon"] - 55) / 60
    if name == "Dan":
        freshness = -drink["mint"] / 10
    return np.array([balance, freshness]) + rng.normal(0, 0.05, size=2)


def taster(name, drinks):
    """Positions of the drinks that the taster keeps."""
    return non_dominated([taste(name, drink) for drink in drinks]).nonzero()[0]


# %% [markdown]
# ## The study
#
# Each taster has a link of their own on the page; here they answer in turn. `raters="separate"` asks each of them about what *they* may like.

# %%
folder = tempfile.TemporaryDirectory()
study = cb.Study.create(
    Path(folder.name) / "lemonade.db",
    "lemonade",
    space,
    raters="separate",
    latent_dim=2,
    query_size=4,
)
tasters = ["Ann", "Ben", "Cleo", "Dan"]
for name in tasters:
    study.add_rater(name)
for _ in range(10):
    for name in tasters:
        question = study.ask(name)
        study.tell(question, taster(name, question.options), rater=name)

pd.DataFrame(
    [
        {"taster": rater.name, "answers": rater.answers}
        for rater in study.raters()
        if rater.answers
    ]
)

# %% [markdown]
# ## Do they agree?
#
# Ten answers each are few. But tastes are related: what Ann says tells something about Ben, unless his answers say otherwise. `raters="related"`, the default of `ChoiceGP`, learns what all share, what is personal, and how large each part is. (A study
# asks that way, too, unless it says otherwise as here.)

# %%
options, choices = [], []
for answer in study.history():
    rows = range(len(options), len(options) + len(answer.options))
    kept = [rows[position] for position in answer.kept]
    choices.append(cb.Choice(rows, kept, rater=answer.rater))
    options.extend(space.encode(answer.options))
data = cb.ChoiceData(options, choices)
posterior = cb.ChoiceGP(latent_dim=2, engine="laplace").fit(data, seed=0)

# %% [markdown]
# Every taster's model judges the same sixty drinks. The picture shows how probable it is that no other of the sixty beats a drink.

# %%
drinks = space.sobol(60, seed=5)
judged = np.array(
    [posterior.pareto_probability(drinks, rater=name) for name in tasters]
)
order = np.argsort(-judged[:3].mean(0))

figure = Figure(figsize=(9, 2.4), layout="constrained")
axes = figure.subplots()
image = axes.imshow(
    judged[:, order], aspect="auto", cmap="Purples", vmin=0, vmax=1
)
axes.set_yticks(range(4), tasters)
axes.set_xlabel("sixty drinks, those that Ann, Ben and Cleo like on the left")
axes.set_xticks([])
figure.colorbar(image, label="probability of being best")
figure

# %%
agreement = pd.DataFrame(np.corrcoef(judged), tasters, tasters).round(2)
agreement

# %% [markdown]
# Dan stands apart. So the panel's recipe is learned from the others, and Dan gets his own bottle:

# %%
threesome = cb.ChoiceOptimizer(space, latent_dim=2)
for answer in study.history():
    if answer.rater != "Dan":
        threesome.add(answer.options, answer.kept)

pd.concat(
    {
        "Ann, Ben and Cleo": threesome.pareto_set(0.0)
        .to_frame("pandas")
        .head(3),
        "Dan": study.pareto_set(0.0, "Dan").to_frame("pandas").head(3),
    }
).round(2)

# %%
study.close()
folder.cleanup()
