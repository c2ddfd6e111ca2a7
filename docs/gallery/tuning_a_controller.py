# %% [markdown]
# # Tuning a controller against a simulator
#
# A motor must follow a step without ringing, quickly, and without tearing at its gearbox. Engineers weigh these against each other by eye: they look at step responses and say "these two are fine". A cost function that mixes overshoot, settling time and
# effort with fixed weights would decide the trade-off before anybody has seen it.
#
# choicebo proposes gains for a PID controller, a simulator draws the responses, and the engineer keeps those that no other one beats.

# %%
# %matplotlib inline
import numpy as np
from matplotlib.figure import Figure

import choicebo as cb
from choicebo.pareto import non_dominated

space = cb.Space(
    [
        cb.Real("Kp", 0.3, 10, log=True),
        cb.Real("Ki", 0.3, 10, log=True),
        cb.Real("Kd", 0.02, 2, log=True),
    ]
)
time = np.arange(0, 8, 0.01)


def step_response(gains):
    """Position of a motor with friction and an elastic gearbox after a step of 1, and the voltage; both (time,)."""
    position = speed = voltage = integral = 0.0
    error_before, positions, voltages = 1.0, [], []
    for _ in time:
        error = 1.0 - position
        integral += error * 0.01
        wanted = (
            gains["Kp"] * error
            + gains["Ki"] * integral
            + gains["Kd"] * (error - error_before) / 0.01
        )
        voltage += (
            np.clip(wanted, -12, 12) - voltage
        ) * 0.08  # the amplifier lags behind
        speed += (10 * voltage - 1.1 * speed - 0.8 * position) * 0.01
        position += speed * 0.01
        error_before = error
        positions.append(position)
        voltages.append(voltage)
    return np.array(positions), np.array(voltages)


# %% [markdown]
# ## The engineer
#
# Simulated here: they look at overshoot, settling time and the jerk of the voltage. A response that has not settled after six seconds is no good at all. choicebo does not know that these numbers exist.


# %%
def looks(gains):
    """Overshoot, settling time and jerk, with a minus sign: larger is better."""
    position, voltage = step_response(gains)
    outside = np.flatnonzero(np.abs(position - 1) > 0.05)
    settled = time[outside[-1]] if len(outside) else 0.0
    overshoot, jerk = (
        max(position.max() - 1, 0.0),
        np.abs(np.diff(voltage)).max(),
    )
    return -np.array([overshoot, settled, jerk]) - (10 if settled > 6 else 0)


def engineer(options):
    """Positions of the responses that the engineer keeps."""
    return non_dominated(
        np.round([looks(gains) for gains in options], 2)
    ).nonzero()[0]


# %% [markdown]
# ## Fifteen questions

# %%
optimizer = cb.ChoiceOptimizer(space, latent_dim=2, query_size=4, seed=0)
first = None
for _ in range(15):
    question = optimizer.ask()
    first = first or question
    optimizer.tell(question, kept=engineer(question.options))


# %%
def responses(options, title, axes):
    """Step responses in one picture."""
    for number, gains in enumerate(options):
        axes.plot(time, step_response(gains)[0], label=f"{number + 1}", lw=1.6)
    axes.axhline(1, color="0.6", lw=0.8)
    axes.set(title=title, xlabel="seconds", ylim=(0, 1.9))


best = [each.option for each in optimizer.pareto_set(0.0)[:5]]
figure = Figure(figsize=(9, 3.3), layout="constrained")
left, right = figure.subplots(1, 2, sharey=True)
responses(first.options, "First question: chosen to fill the space", left)
responses(best, "The five that are most probably best", right)
left.set_ylabel("position")
figure

# %% [markdown]
# The gains behind the right picture, and the numbers that the engineer never had to write down:

# %%
table = optimizer.pareto_set(0.0).to_frame("pandas").head(5)
table[["overshoot", "settling (s)", "jerk"]] = [
    np.negative(looks(gains)) for gains in best
]
table.round(2)

# %% [markdown]
# If an engineer *can* write the numbers down, a multi-objective optimiser that sees them, such as BoTorch's qLogNEHVI, needs fewer simulations. Choices pay where "fine" means more than the numbers one thought of.
