# %% [markdown]
# # A recipe with constraints
#
# A bakery develops a new bread. The baker can vary four things, within limits that the kitchen sets: the dough must not be too wet to handle, the oven must not burn it, and the loaf must not cost more than 2.40 €.
# Nobody can write down what makes a good loaf. The tasting panel can say which of four loaves it would keep.
#
# A simulated panel answers here, so that the notebook runs by itself. It wants an open crumb and a crisp crust, and never tells us so.

# %%
# %matplotlib inline
import pandas as pd

import choicebo as cb
from choicebo import plots
from choicebo.pareto import non_dominated

space = cb.Space(
    [
        cb.Real("hydration", 60, 85, unit="%", step=1),
        cb.Real("rye", 0, 50, unit="%", step=5),
        cb.Integer("temperature", 200, 250, unit="°C"),
        cb.Integer("minutes", 25, 55),
    ],
    constraints=[
        "hydration + 0.3*rye <= 85",  # wetter dough cannot be shaped
        "temperature + 2*minutes <= 330",  # darker crust is burnt
        "1.2 + 0.01*rye + 0.015*minutes <= 2.4",  # flour and energy, in euros
    ],
)
space

# %% [markdown]
# ## The panel
#
# The panel keeps every loaf that no other loaf beats in both respects. Replace this function by people: show them `question.options` and take down what they keep.


# %%
def crumb_and_crust(loaf):
    """What the panel cares about; larger is better."""
    heat = loaf["temperature"] / 5 + loaf["minutes"]
    crumb = loaf["hydration"] / 4 - loaf["rye"] / 10 - heat / 5
    crust = heat / 3 + loaf["rye"] / 20 - loaf["hydration"] / 10
    return crumb, crust


def panel(loaves):
    """Positions of the loaves that the panel keeps."""
    return non_dominated([crumb_and_crust(loaf) for loaf in loaves]).nonzero()[
        0
    ]


# %% [markdown]
# ## Fifteen bakes of four loaves
#
# Every question shows two loaves that were never baked before. None of them breaks a rule of the kitchen.

# %%
optimizer = cb.ChoiceOptimizer(space, latent_dim=2, query_size=4, seed=1)
for _ in range(15):
    question = optimizer.ask()
    assert all(space.contains(loaf) for loaf in question.options)
    optimizer.tell(question, kept=panel(question.options))

print(question.reason)

# %% [markdown]
# ## The loaves to choose from
#
# The best loaves are a trade-off, from an open crumb to a crisp crust. Which of them goes on sale is for the baker to say.

# %%
best = optimizer.pareto_set().to_frame("pandas")
best[["crumb (hidden)", "crust (hidden)"]] = [
    crumb_and_crust(loaf) for loaf in best.to_dict("records")
]
best["price"] = 1.2 + 0.01 * best["rye"] + 0.015 * best["minutes"]
best.round(2)

# %%
figure = plots.parallel_options(optimizer.posterior(), space)
figure

# %% [markdown]
# ## Did it work?
#
# Because the panel is simulated, we can compare with what it would keep of 2,000 random loaves that satisfy all constraints.

# %%
random_loaves = space.decode(space.sample(2000, seed=0))
everything = pd.DataFrame(
    [
        crumb_and_crust(loaf)
        for loaf in [
            *random_loaves,
            *(each.option for each in optimizer.pareto_set()),
        ]
    ]
)
still_best = non_dominated(everything.to_numpy())[len(random_loaves) :]
print(
    f"{still_best.sum()} of {len(still_best)} proposed loaves are beaten by none of 2,000 random ones."
)
