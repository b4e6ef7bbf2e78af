"""The example of the page on proving is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "proving.md"


def test_the_example_of_the_page_proves_what_it_says(capsys: Any) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    scope: dict[str, Any] = {}

    exec(example, scope)  # noqa: S102 - our own text

    assert capsys.readouterr().out.startswith("nearest: ")
    assert scope["found"].proof.fewest.status == "optimal"
