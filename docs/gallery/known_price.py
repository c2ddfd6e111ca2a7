# %% [markdown]
# # A known price
#
# A company equips its staff with laptops. What people like about a laptop is hidden: memory, battery, screen and weight, in some mixture that nobody can write down. The price is not hidden: it follows from the configuration, and less is better. There is no point in learning from
# people's choices what a spreadsheet says already.
#
# A space takes known objectives as formulas. They count beside the hidden ones: an option is kept unless another one is liked better *and* costs less.

# %%
# %matplotlib inline
import numpy as np
from matplotlib.figure import Figure

import choicebo as cb
from choicebo.pareto import non_dominated

parameters = [
    cb.Integer("ram", 8, 64, log=True, unit="GB"),
    cb.Real("screen", 12, 17, step=0.1, unit="inch"),
    cb.Real("weight", 0.9, 2.5, step=0.1, unit="kg"),
    cb.Integer("battery", 6, 20, unit="h"),
]
formula = "300 + 9*ram + 60*(screen - 12) + 250/weight + 12*battery"
space = cb.Space(parameters, objectives=[f"minimise price = {formula}"])
space

# %% [markdown]
# ## The employee
#
# Simulated: what they like, and the price that they see. choicebo knows the formula of the price and learns the rest.


# %%
def price(laptop):
    """What a laptop costs, in euros."""
    components = 9 * laptop["ram"] + 60 * (laptop["screen"] - 12)
    return 300 + components + 250 / laptop["weight"] + 12 * laptop["battery"]


def liking(laptop):
    """What the employee cannot put into words."""
    comfort = np.log2(laptop["ram"]) / 3 + laptop["battery"] / 10
    return comfort - abs(laptop["screen"] - 14) / 2 - laptop["weight"] / 2


def employee(laptops):
    """Positions of the laptops that the employee keeps."""
    values = [(liking(laptop), -price(laptop)) for laptop in laptops]
    return non_dominated(values).nonzero()[0]


# %% [markdown]
# ## With and without the price
#
# Twelve questions each. With the price known there is one hidden objective; without it, the model has to find both in the answers.

# %%
found = {}
for name, asked, hidden in [
    ("price known", space, 1),
    ("price hidden", cb.Space(parameters), 2),
]:
    optimizer = cb.ChoiceOptimizer(
        asked, latent_dim=hidden, query_size=4, seed=0
    )
    for _ in range(12):
        question = optimizer.ask()
        optimizer.tell(question, kept=employee(question.options))
    found[name] = [each.option for each in optimizer.pareto_set()]

# %% [markdown]
# Grey are 2,000 random laptops. The best ones lie on the upper left edge: as cheap as can be for what they offer.

# %%
crowd = space.decode(space.sample(2000, seed=1))


def scatter(axes, laptops, **how):
    """Price and liking of laptops."""
    axes.scatter(
        [price(o) for o in laptops], [liking(o) for o in laptops], **how
    )


figure = Figure(figsize=(8.5, 3.6), layout="constrained")
left, right = figure.subplots(1, 2, sharey=True)
for axes, name in ((left, "price known"), (right, "price hidden")):
    scatter(axes, crowd, s=4, color="0.8")
    scatter(axes, found[name], s=45, color="#4b3fd0")
    axes.set(title=name, xlabel="price in euros")
left.set_ylabel("liking, never stated")
figure

# %%
for name, laptops in found.items():
    values = [(liking(o), -price(o)) for o in [*crowd, *laptops]]
    unbeaten = non_dominated(values)[len(crowd) :].sum()
    print(
        f"{name}: {len(laptops)} laptops proposed, {unbeaten} beaten by none of 2,000"
    )

# %% [markdown]
# What to buy for which budget:

# %%
shopping = sorted(found["price known"], key=price)
for laptop in shopping[:: max(1, len(shopping) // 5)]:
    print(f"{price(laptop):5.0f} euros: {laptop}")
