"""``counterpoint batch``: the command for more rows than one sitting is good for."""

from __future__ import annotations

import argparse
import io
import json
import sys
from typing import TYPE_CHECKING

from counterpoint.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from counterpoint.batch.order import Recipe
    from counterpoint.batch.summary import Summary


def explain_all(options: argparse.Namespace) -> int:
    """Explain all rows of some files into a folder, or go on with that; return the exit status."""
    from counterpoint.batch.files import explain_files
    from counterpoint.cli import reading

    recipe = recipe_of(options)
    summary = explain_files(
        recipe,
        options.rows,
        options.out,
        reading.read_target(options.target, recipe.explainer().classes),
        reading.search_of(options),
        options.seed,
        fixed=options.fix,
        constraints=options.rule,
        max_changed=options.max_changes,
        costs=reading.read_costs(options.cost),
        id=options.id,
        keep=options.keep,
        prefix=options.prefix,
        engine=options.engine,
        scheduler=options.scheduler,
        workers=options.workers,
        row_timeout=options.row_timeout,
        part_rows=options.part_rows,
    )
    tell(summary, as_json=options.json)
    return summary.exit_status


def tell(summary: Summary, *, as_json: bool) -> None:
    """Print what became of the rows."""
    text = json.dumps(summary.as_json(), indent=1) if as_json else str(summary)
    sys.stdout.write(f"{text}\n")


def recipe_of(options: argparse.Namespace) -> Recipe:
    """Return how a process gets the explainer: of the contents of the files that are named."""
    from counterpoint.batch.order import Files, Recipe
    from counterpoint.cli import reading
    from counterpoint.models.files import load_model

    model = load_model(options.model, allow_pickle=options.allow_pickle, trusted=options.trust)
    name, content, table = read_data(options.data)
    data = reading.drop_columns(table, [*options.drop, *known_id(options, table)], "--drop")
    reading.check_features(model, data)
    drop = tuple(column for column in table.columns if column not in data.columns)
    classes = reading.read_classes(options.classes)
    return Recipe(
        Files(
            options.model.name,
            options.model.read_bytes(),
            name,
            content,
            drop,
            None if classes is None else tuple(classes),
            options.allow_pickle,
            tuple(options.trust),
        )
    )


def known_id(options: argparse.Namespace, table: pd.DataFrame) -> list[str]:
    """Return the id column if the data have it, too: it is no feature there either."""
    return [options.id] if options.id in table.columns and options.id not in options.drop else []


def read_data(names: list[str]) -> tuple[str, bytes, pd.DataFrame]:
    """Return the observed rows: a name with an ending, the content of such a file, and the table.

    Several files become one, so that processes elsewhere need none of them.
    """
    import pandas as pd

    from counterpoint.batch.inputs import find_files
    from counterpoint.table.files import read_content, refused_if_damaged

    places = find_files(names, "--data")
    contents, tables = [], []
    for place in places:
        said = f"--data {place.name!r}"
        with refused_if_damaged(said, place.ending), place.open() as file:
            contents.append(file.read())
        tables.append(read_content(io.BytesIO(contents[-1]), place.ending, said))
    if len(places) == 1:
        return places[0].label, contents[0], tables[0]
    for place, table in zip(places[1:], tables[1:], strict=True):
        if set(table.columns) != set(tables[0].columns):
            raise InvalidInput(
                f"--data {place.name!r} has other columns than {places[0].name!r}; all files must "
                "have the same columns."
            )
    both = pd.concat(tables, ignore_index=True)
    sink = io.BytesIO()
    both.to_feather(sink)
    return "data.feather", sink.getvalue(), both
