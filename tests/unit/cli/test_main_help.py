"""The examples of the help texts are commands that the parser takes, and labels that are read."""

from __future__ import annotations

import re
import shlex
import tomllib

import pytest

from counterpoint.cli.main import HELP, build_parser
from counterpoint.table.labels import Labels

EXAMPLES = re.findall(
    r"^  counterpoint (.+(?:(?<=\\)\n.+)*)",
    HELP["explain"] + HELP["batch"] + HELP["serve"],
    re.MULTILINE,
)


@pytest.mark.parametrize("command", EXAMPLES)
def test_every_example_is_a_command(command: str) -> None:
    options = build_parser().parse_args(shlex.split(command.replace("\\\n", " ")))

    assert options.command in ("explain", "batch", "serve")


def test_the_example_of_labels_is_read() -> None:
    text = HELP["kinds"].split("labels, as TOML or JSON:\n")[1].split("\n\n")[0]

    labels = Labels.read(tomllib.loads("\n".join(line.strip() for line in text.splitlines())))

    assert labels.feature("duration", "de") == "Laufzeit"
    assert labels.level("job", 2) == "skilled"
