"""The README's example is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[2] / "README.md"


def test_the_ten_lines_of_the_readme_work(capsys: Any) -> None:
    examples = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)

    scope: dict[str, Any] = {}
    exec(examples[0], scope)  # noqa: S102 - our own text

    assert len(examples) == 1
    assert scope["found"].status == "found"
    assert "reach class 'good'" in capsys.readouterr().out
