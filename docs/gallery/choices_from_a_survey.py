# %% [markdown]
# # Choices exported from a survey tool
#
# A mobility survey showed four ways to commute and asked "Tick all that you would consider". The survey tool exports one row for each answer, with the attributes of the options side by side and a column of ticked numbers: the wide table that most tools
# produce.
#
# This notebook reads such a file, finds a wrong row, learns from the rest, and shows what people weigh.

# %%
# %matplotlib inline
import numpy as np
import pandas as pd

import choicebo as cb
from choicebo import plots
from choicebo.insight import drivers
from choicebo.pareto import non_dominated

# %% [markdown]
# ## The file
#
# Two hundred answers, made up as if the respondents wanted to arrive quickly and to pay little, and minded every change.

# %%
rng = np.random.default_rng(0)
answers = []
for number in range(1, 201):
    options = [
        {
            "minutes": int(rng.integers(15, 75)),
            "euros": round(float(rng.uniform(0, 9)), 1),
            "changes": int(rng.integers(0, 4)),
        }
        for _ in range(4)
    ]
    hidden = [
        (
            -each["minutes"] - 6 * each["changes"] + rng.normal(0, 2),
            -each["euros"] - each["changes"] / 2,
        )
        for each in options
    ]
    ticked = " ".join(
        str(position + 1) for position in np.flatnonzero(non_dominated(hidden))
    )
    row = {"response": number, "ticked": ticked}
    for position, option in enumerate(options, start=1):
        row |= {
            f"trip{position}.{name}": value for name, value in option.items()
        }
    answers.append(row)
export = pd.DataFrame(answers)
export.loc[17, "ticked"] = "2 7"  # somebody's export script had a bug
export.head(3)

# %% [markdown]
# ## Reading it
#
# `columns` says what the tool calls things, `space` in which units the attributes are. Wrong rows are named, all at once, before anything is learned:

# %%
space = cb.Space(
    [
        cb.Integer("minutes", 15, 75),
        cb.Real("euros", 0, 9, step=0.1),
        cb.Integer("changes", 0, 3),
    ]
)
names = {"kept": "ticked", "option": "trip"}
table = export.drop(columns="response")
try:
    cb.ChoiceData.from_frame(table, "choices", columns=names, space=space)
except cb.DataError as error:
    print(error)

# %%
data = cb.ChoiceData.from_frame(
    table.drop(index=17), "choices", columns=names, space=space
)
data

# %% [markdown]
# A CSV file is read by its path, `cb.ChoiceData.from_frame("export.csv", ...)`, and long tables, with a row for each option, work as well.
#
# ## Learning from it
#
# 150 answers to learn from, 49 to check with:

# %%
train, test = data.subset(range(150)), data.subset(range(150, data.n_choices))
posterior = cb.ChoiceGP(latent_dim=2, engine="laplace").fit(train, seed=0)
right = sum(
    {
        choice.shown[position]
        for position in posterior.predict_choice(test.X[list(choice.shown)])
    }
    == set(choice.kept)
    for choice in test.choices
)
print(
    f"{right} of {test.n_choices} unseen answers predicted exactly; guessing among 15 subsets would find {test.n_choices / 15:.0f}."
)

# %% [markdown]
# ## What people weigh

# %%
objectives = drivers(posterior, space)
for objective in objectives:
    print(objective.sentence)

# %%
figure = plots.driver_bars(objectives)
figure

# %% [markdown]
# And what would they consider of three commutes that were in no survey?

# %%
commutes = [
    {"minutes": 25, "euros": 6.5, "changes": 0},
    {"minutes": 45, "euros": 2.0, "changes": 1},
    {"minutes": 60, "euros": 2.5, "changes": 2},
]
probabilities = posterior.choice_probabilities(space.encode(commutes))
pd.DataFrame(
    [
        {
            "would consider": ", ".join(
                f"{commutes[i]['minutes']} min" for i in kept
            ),
            "probability": p,
        }
        for kept, p in probabilities.items()
    ]
).head(4).round(2)
