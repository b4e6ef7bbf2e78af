"""The entry point: parse, run, say what went wrong in one line, and return the exit status."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from counterpoint.cli.arguments import Parser, build_parser
from counterpoint.errors import CounterpointError, InvalidInput, PredictorError

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals
    from counterpoint.table.labels import Lang


FOUND, NOTHING, WRONG, MODEL_FAILED, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    parser, others = build_parser(), set(threading.enumerate())
    status = run(parser.parse_args(arguments), parser)
    started = (thread.name for thread in threading.enumerate() if thread not in others)
    return leave(status) if "counterpoint-batch" in started else status


def run(options: argparse.Namespace, parser: Parser) -> int:
    """Run a command; return its exit status."""
    commands = {"batch": batch, "explain": explain, "schema": schema, "serve": serve, "show": show}
    commands |= {"warm-up": warm_up}
    warnings.showwarning = tell_warning
    try:
        status = commands[options.command](options)
        sys.stdout.flush()
    except PredictorError as error:
        return fail(error, MODEL_FAILED)
    except CounterpointError as error:
        return fail(parser.in_flags(str(error), options.command), WRONG)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND
    except (OSError, MemoryError) as error:
        return fail(error, WRONG)
    except KeyboardInterrupt:
        if options.command == "batch":
            return fail("interrupted: what is done is kept; the same command goes on.", INTERRUPTED)
        return fail("interrupted before anything was found.", INTERRUPTED)
    return status


def leave(status: int) -> NoReturn:
    """End the process though threads hang in a model.

    The interpreter cannot end them, and code of other languages they are in may not bear that it
    goes away.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def fail(error: object, status: int) -> int:
    """Say in one line what went wrong; return the exit status."""
    text = " ".join(str(error).split()) or type(error).__name__
    sys.stderr.write(f"counterpoint: {text}\n")
    return status


def tell_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Say a warning in one line."""
    sys.stderr.write(f"counterpoint: note: {' '.join(str(message).split())}\n")


def explain(options: argparse.Namespace) -> int:
    """Explain the rows that are asked for; show and save what was found."""
    from counterpoint.cli import reading

    check_output(options)
    explainer, data = reading.explainer_of(options)
    rows = reading.read_rows(options.rows, options.row, data, options.drop)
    results = explainer.explain_many(
        rows,
        reading.read_target(options.target, explainer.classes),
        reading.search_of(options),
        options.seed,
        limits=reading.limits_of(options, explainer.schema),
    )
    if options.out is not None and results:
        save(results, options)
    output(results, options)
    return status_of(results, len(rows))


def output(results: list[Counterfactuals], options: argparse.Namespace) -> None:
    """Write the pages and tables that are asked for, and show the results."""
    from counterpoint.cli import showing

    lang: Lang = options.lang or "en"
    for found in results[:1]:
        if options.report is not None:
            found.report(options.report, reader=options.reader or "analyst", lang=lang)
        if options.letter is not None:
            found.letter(options.letter, lang=lang, sender=options.sender, closing=options.closing)
        if options.csv is not None:
            found.to_csv(options.csv)
    if options.json:
        showing.print_json(results, options.show)
    elif options.lang is not None or options.reader is not None:
        showing.tell_results(results, lang, options.reader or "customer", max(1, options.show))
    else:
        showing.show_results(results, options.show)


def batch(options: argparse.Namespace) -> int:
    """Explain all rows of many files into a folder, or go on with that."""
    from counterpoint.batch.files import explain_files
    from counterpoint.cli import reading

    recipe = reading.recipe_of(options)
    summary = explain_files(
        recipe,
        options.rows,
        reading.read_target(options.target, recipe.explainer().classes),
        reading.search_of(options),
        options.seed,
        out=options.out,
        limits=reading.limits_of(options, recipe.explainer().schema),
        keep=options.keep,
        id=options.id,
        prefix=options.prefix,
        engine=options.engine,
        scheduler=options.scheduler,
        workers=options.workers,
        row_timeout=options.row_timeout,
        part_rows=options.part_rows,
    )
    text = json.dumps(summary.as_json(), indent=1) if options.json else str(summary)
    sys.stdout.write(f"{text}\n")
    return summary.exit_status


def serve(options: argparse.Namespace) -> int:
    """Open the explorer, until Ctrl-C."""
    from counterpoint.checks import require_package
    from counterpoint.cli import reading

    for package in ("fastapi", "uvicorn"):
        require_package(package, "counterpoint serve", '"counterpoint[serve]"')
    from counterpoint.explorer.server import Explorer, serve_until_ended, starting_with

    explainer, data = reading.explainer_of(options)
    rows = (
        None if options.rows is None else reading.read_rows(options.rows, None, data, options.drop)
    )
    reading.take_rows(data if rows is None else rows, [options.row])
    limits, first = starting_with(options, explainer)
    setting = {"limits": limits, "first": first, "lang": options.lang}
    explorer = Explorer(explainer, data, rows, port=options.port, **setting)
    serve_until_ended(explorer, opens=options.open)
    return FOUND


def check_output(options: argparse.Namespace) -> None:
    """Refuse what could not be saved or shown before anything is searched."""
    from counterpoint.checks import require_package

    if options.show < 0:
        raise InvalidInput(f"--show must be at least 0, got {options.show}.")
    if not options.json and options.lang is None:
        require_package("rich", "a table on the screen", '"counterpoint[cli]" (or use --json)')
    is_one = options.row is not None and len(options.row) == 1
    check_pages(options, is_one=is_one)
    if options.out is not None:
        check_place("--out", options.out, (".json", ".parquet"))
        if options.out.suffix.lower() == ".json" and not is_one:
            raise InvalidInput("--out must end in .parquet where several rows are explained.")


def check_pages(options: argparse.Namespace, *, is_one: bool) -> None:
    """Refuse pages and tables that could not be written."""
    from counterpoint.checks import require_package

    if options.report is not None and options.reader != "customer":
        require_package("altair", "--report", '"counterpoint[figures]"')
    for flag, ending in (("--report", ".html"), ("--letter", ".html"), ("--csv", ".csv")):
        file = getattr(options, flag[2:])
        if file is not None and not is_one:
            raise InvalidInput(f"{flag} is of one row; name it by --row, once.")
        if file is not None:
            check_place(flag, file, (ending,))
    if (options.sender or options.closing) and options.letter is None:
        raise InvalidInput("--sender and --closing are texts of a letter; name it by --letter.")


def check_place(flag: str, file: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file of another ending than these, or in no folder."""
    if file.suffix.lower() not in endings:
        raise InvalidInput(f"{flag} must end in {' or '.join(endings)}, got {str(file)!r}.")
    if not file.absolute().parent.is_dir():
        raise InvalidInput(f"{flag} {str(file)!r} is in no folder there is; make it first.")


def save(results: list[Counterfactuals], options: argparse.Namespace) -> None:
    """Save the results as the file's ending says."""
    from counterpoint.result.file.saving import save_many

    if options.out.suffix.lower() == ".json":
        results[0].save(options.out)
    else:
        save_many(results, options.out)


def status_of(results: list[Counterfactuals], n_rows: int) -> int:
    """Return the exit status of some results."""
    if len(results) < n_rows or any(found.stopped == "interrupt" for found in results):
        return INTERRUPTED
    has_all = all(found.status in ("found", "already_met") for found in results)
    return FOUND if has_all else NOTHING


def schema(options: argparse.Namespace) -> int:
    """Show what the columns of a table are taken for."""
    from counterpoint.cli import reading, showing
    from counterpoint.table.schema import Schema, remarked

    data = reading.drop_columns(reading.read_table(options.data, "--data"), options.drop, "--drop")
    known = reading.columns_of(options, list(data))
    remarks = [known.pop(name) for name in ("units", "protected", "labels")]
    showing.show_schema(remarked(Schema.infer(data, **known), *remarks))
    return FOUND


def show(options: argparse.Namespace) -> int:
    """Show saved results."""
    from counterpoint.cli import reading
    from counterpoint.result.file.loading import load, load_many

    is_many = options.file.suffix.lower() == ".parquet"
    results = load_many(options.file) if is_many else [load(options.file)]
    check_pages(options, is_one=len(results) == 1)
    if (labels := reading.read_names(options.labels)) is not None:
        results = [found.labelled(labels) for found in results]
    output(results, options)
    return status_of(results, len(results))


def warm_up(options: argparse.Namespace) -> int:  # noqa: ARG001 - as of every command
    """Compile what searches need; there is nothing to do where that was done."""
    from counterpoint.explainer.explainer import Explainer
    from counterpoint.explainer.warm_up import use_paper
    from counterpoint.explainer.warm_up import warm_up as compile_kernels

    compile_kernels(Explainer)
    use_paper(Explainer)
    sys.stdout.write("all kernels are compiled.\n")
    return FOUND
