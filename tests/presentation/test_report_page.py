from __future__ import annotations

import choicebo as cb
from choicebo.presentation.report_page import report_page
from choicebo.study import Study


def test_a_dollar_in_names_is_a_dollar_in_the_report(tmp_path):
    """Matplotlib would read what stands between two of them as a formula."""
    space = cb.Space([cb.Real("price $ and $^_{", 0, 1), cb.Categorical("in $\\x$", ["$_$", "b$^", "$$"])])
    with Study.create(tmp_path / "a.db", "for $1_$2", space, engine="laplace", latent_dim=1, query_size=3) as study:
        for _ in range(4):
            study.tell(study.ask(stand_in=True), [0])
        page = report_page(study)
    assert page.count("data:image/png") >= 1
    assert 'class="chart effect-chart"' in page
    assert "price $ and $^_{" in page
