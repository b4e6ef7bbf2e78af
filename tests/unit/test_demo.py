"""The demo says which extra it wants before it trains anything."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from counterpoint import demo


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [("sklearn", [], "demo"), ("altair", [], "demo"), ("uvicorn", ["--serve"], "serve")],
)
def test_a_missing_package_is_told_with_its_extra(
    missing: str, arguments: list[str], extra: str, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(SystemExit) as ended:
        demo.main(arguments)

    assert f'{missing}, which is not installed; run: pip install "counterpoint[{extra}]"' in str(
        ended.value
    )
    assert capsys.readouterr().out == ""
