# %% [markdown]
# # Product pictures from a catalogue
#
# A shop has sixty mugs and wants to know which ones to put in the window. Customers see pictures; the catalogue is a table. choicebo shows five mugs at a time, learns from the columns of the table, and never proposes a mug that does not exist.

# %%
# %matplotlib inline
import itertools

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Rectangle

import choicebo as cb
from choicebo.insight import drivers
from choicebo.pareto import non_dominated

colours = {
    "sand": "#d8c3a5",
    "teal": "#2a9d8f",
    "ink": "#264653",
    "coral": "#e76f51",
}
rng = np.random.default_rng(3)
rows = [
    {
        "sku": f"M{number:02d}",
        "height": round(float(rng.uniform(7, 13)), 1),
        "width": round(float(rng.uniform(6, 10)), 1),
        "handle": bool(rng.random() < 0.6),
        "colour": str(rng.choice(list(colours))),
    }
    for number in range(1, 61)
]
catalogue = cb.Catalogue(rows, key="sku")
catalogue

# %% [markdown]
# A shop has photographs: a column with file names, and `cb.Catalogue("mugs.csv", key="sku", image="photo")`. Here a few lines draw the mugs.


# %%
def draw(axes, mug, kept=False):
    """One mug, with a frame if it was kept."""
    height, width = mug["height"], mug["width"]
    if mug["handle"]:
        axes.add_patch(
            Arc(
                (width / 2, height / 2),
                4.5,
                height * 0.55,
                theta1=-90,
                theta2=90,
                lw=5,
                color=colours[mug["colour"]],
            )
        )
    axes.add_patch(
        Rectangle((-width / 2, 0), width, height, color=colours[mug["colour"]])
    )
    axes.set(xlim=(-9, 9), ylim=(-1, 14), aspect="equal", xticks=[], yticks=[])
    axes.set_title(mug["sku"], fontsize=9)
    for side in axes.spines.values():
        side.set(
            color="#4b3fd0" if kept else "0.85", linewidth=2.5 if kept else 1
        )


def picture(mugs, kept=()):
    """Mugs side by side."""
    figure = Figure(figsize=(1.7 * len(mugs), 1.9), layout="constrained")
    for position, (axes, mug) in enumerate(
        zip(np.ravel(figure.subplots(1, len(mugs))), mugs, strict=True)
    ):
        draw(axes, mug, position in kept)
    return figure


# %% [markdown]
# ## The customer
#
# Our customer is simulated: they like slim mugs that hold a lot, and sand or teal more than the rest.


# %%
def customer(mugs):
    """Positions of the mugs that the customer keeps."""
    slim = [mug["height"] / mug["width"] + 0.2 * mug["handle"] for mug in mugs]
    volume = [
        mug["height"] * mug["width"] ** 2 / 500
        + (mug["colour"] in ("sand", "teal")) * 0.4
        for mug in mugs
    ]
    return non_dominated(np.column_stack([slim, volume])).nonzero()[0]


optimizer = cb.ChoiceOptimizer(catalogue, latent_dim=2, seed=0)
for _ in range(12):
    question = optimizer.ask()
    kept = customer(question.options)
    optimizer.tell(question, kept)

figure = picture(question.options, kept)
figure  # the last question, and what was kept

# %% [markdown]
# ## The window
#
# Five of the mugs that no other mug probably beats:

# %%
best = [each.option for each in itertools.islice(optimizer.pareto_set(0.0), 5)]
window = picture(best)
window

# %% [markdown]
# What the customer seems to weigh:

# %%
for objective in drivers(optimizer.posterior(), catalogue):
    print(objective.sentence)

# %% [markdown]
# The same study with real people and photographs takes two commands, and the catalogue as a CSV or Excel file:
#
# ```console
# $ choicebo new mugs.db --catalogue mugs.csv
# $ choicebo serve mugs.db
# ```
