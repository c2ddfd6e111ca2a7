from __future__ import annotations

import pytest
from study_contract import StudyContract


class TestStudyInAFile(StudyContract):
    @pytest.fixture
    def url(self, tmp_path):
        return str(tmp_path / "study.db")
