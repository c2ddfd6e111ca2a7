"""Whether an installed choicebo works with the core alone: a loop with its model, and a command that says what it lacks."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import choicebo as cb


def check_loop() -> None:
    """Ask, tell, learn."""
    space = cb.Space([cb.Real("temperature", 150, 220), cb.Categorical("flour", ["rye", "oat"])])
    loop = cb.ChoiceOptimizer(space, latent_dim=2, initial_queries=2, seed=0)
    for _ in range(4):
        question = loop.ask()
        warmest = max(range(len(question.options)), key=lambda at: question.options[at]["temperature"])
        loop.tell(question, kept=[warmest])
    found = loop.pareto_set()
    assert found[0].option["temperature"] > 180, found
    assert loop.posterior().loo(refit_limit=0).elpd < 0


def check_command() -> None:
    """The command runs where its extra is installed, and names the extra where it is not."""
    script = Path(sys.executable).with_name("choicebo")
    said = subprocess.run([script, "--version"], capture_output=True, text=True, check=False)
    if said.returncode == 0:
        assert said.stdout.split() == ["choicebo", cb.__version__], said.stdout
    else:
        assert "pip install 'choicebo[cli]'" in said.stderr, said.stderr


assert importlib.metadata.version("choicebo") == cb.__version__
check_loop()
check_command()
print(f"choicebo {cb.__version__} works on Python {sys.version.split()[0]}")
