"""One result that all figures are drawn of, and the same as a file has it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.figures import explained_once

import counterpoint as cp


@pytest.fixture(scope="session")
def found() -> cp.Counterfactuals:
    return explained_once()


@pytest.fixture(scope="session")
def loaded(found: cp.Counterfactuals, tmp_path_factory: Any) -> cp.Counterfactuals:
    file = tmp_path_factory.mktemp("figures") / "found.json"
    found.save(file)
    return cp.load(file)
