"""The command line: its flags, its commands, errors in one line, and the exit status.

The flags, and the help from which one can learn them, are in `help.toml`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import threading
import tomllib
import warnings
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from counterpoint.errors import CounterpointError, InvalidInput, PredictorError, did_you_mean
from counterpoint.version import __version__

if TYPE_CHECKING:
    from counterpoint.explainer.explainer import Explainer
    from counterpoint.problem.limits import CheckedLimits
    from counterpoint.result.counterfactuals import Counterfactuals

HELP: dict[str, Any] = tomllib.loads(files(__package__).joinpath("help.toml").read_text("utf-8"))
FLAGS: dict[str, dict[str, Any]] = HELP["flags"]
TYPES: dict[str, Any] = {"whole": int, "number": float, "file": Path}
FOUND, NOTHING, WRONG, MODEL_FAILED, INTERRUPTED = 0, 1, 2, 3, 130
MOST_SEARCHES = 64  # of the explorer, at a time


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
    from counterpoint.cli import reading, showing

    showing.check_output(options)
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
        showing.save(results, options)
    showing.output(results, options)
    return status_of(results, len(rows))


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
    from counterpoint.explorer.server import Explorer, serve_until_ended
    from counterpoint.explorer.sessions import VisitorLimits

    explainer, data = reading.explainer_of(options)
    rows = (
        None if options.rows is None else reading.read_rows(options.rows, None, data, options.drop)
    )
    reading.take_rows(data if rows is None else rows, [options.row])
    first = first_question(options, explainer)
    limits = VisitorLimits(seconds=options.seconds, searches=options.searches)
    setting: Any = {"limits": limits, "first": first, "lang": options.lang}
    explorer = Explorer(explainer, data, rows, port=options.port, **setting)
    serve_until_ended(explorer, opens=options.open)
    return FOUND


def first_question(options: argparse.Namespace, explainer: Explainer) -> dict[str, Any]:
    """Return the question that the explorer starts with, if it may do what is asked of it."""
    from counterpoint.cli import reading
    from counterpoint.streams import check_seed

    if not 0 < options.seconds < math.inf:
        raise InvalidInput(f"--seconds must be a number above 0, got {options.seconds}.")
    if not 1 <= options.searches <= MOST_SEARCHES:
        raise InvalidInput(
            f"--searches must lie between 1 and {MOST_SEARCHES}, got {options.searches}."
        )
    if options.target is not None:
        reading.read_target(options.target, explainer.classes)
    schema = explainer.schema
    asked = reading.limits_of(options, schema).check(schema, explainer.kept)
    return {
        "row": options.row,
        "target": options.target or "",
        "fixed": [str(n) for n, fixed in zip(schema.names, asked.is_fixed, strict=True) if fixed],
        "rules": [*options.constraints, *rules_of_ranges(asked)],
        "max_changed": options.max_changed,
        "seed": check_seed(options.seed),
    }


def rules_of_ranges(asked: CheckedLimits) -> list[str]:
    """Return the ranges as lines of rules, for the page has no other place for them."""
    from counterpoint.rules.tree import InRange, Word

    features, n_own = asked.rules.schema.features, len(asked.limits.constraints)
    intervals = [
        str(InRange(Word(str(feature.name)), low, high))
        for feature, low, high in zip(features, asked.low, asked.high, strict=True)
        if not math.isnan(low)
    ]
    return [*intervals, *asked.rules.texts[n_own:]]


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

    data = reading.drop_columns(reading.read_table(options.data, "--data"), options.drop)
    known = reading.columns_of(options, list(data))
    remarks = [known.pop(name) for name in ("units", "protected", "labels")]
    showing.show_schema(remarked(Schema.infer(data, **known), *remarks))
    return FOUND


def show(options: argparse.Namespace) -> int:
    """Show saved results."""
    from counterpoint.cli import reading, showing
    from counterpoint.result.file.loading import load, load_many

    is_many = options.file.suffix.lower() == ".parquet"
    results = load_many(options.file) if is_many else [load(options.file)]
    showing.check_pages(options, is_one=len(results) == 1)
    if (labels := reading.read_names(options.labels)) is not None:
        results = [found.labelled(labels) for found in results]
    showing.output(results, options)
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


class Parser(argparse.ArgumentParser):
    """A parser that takes flags by their full names only, and says which one may be meant."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, allow_abbrev=False)
        self.flags: dict[str, list[str]] = {}  # of each command

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments, and end with status 2."""
        if unknown := re.match(r"unrecognized arguments: (--[^\s=]+)", message):
            known = {flag for flags in self.flags.values() for flag in flags}
            message = f"{message}; {did_you_mean(unknown[1], sorted(known))}".rstrip("; ")
        if unknown := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
            choices = re.findall(r"[\w-]+", unknown[2])
            message = f"{message}; {did_you_mean(unknown[1], choices)}".rstrip("; ")
            if "--lang" in message:
                message = f"--lang must be en (English) or de (German), got {unknown[1]!r}"
        super().error(message)

    def in_flags(self, text: str, command: str) -> str:
        """Return an error's text in which the parameter it begins with is the flag that gave it.

        Examples
        --------
        >>> build_parser().in_flags("ranges['age'] must be (low, high).", "explain")
        '--range age must be (low, high).'
        """
        parameter = re.match(r"(?:Search\.)?([a-z_]+)(?:\[(['\"])(.+?)\2\])?(?= )", text)
        if parameter is None:
            return text
        named, feature = f"--{parameter[1].replace('_', '-')}", parameter[3]
        for flag in (named, named.removesuffix("s")):
            if flag in self.flags[command]:
                return f"{flag}{f' {feature}' if feature else ''}{text[parameter.end() :]}"
        return text


class Plain(argparse.RawDescriptionHelpFormatter):
    """Help that keeps its lines, with the arguments in a narrow column."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)


def build_parser() -> Parser:
    """Return the parser of all commands, which `help.toml` lists with their flags."""
    parser = Parser(prog="counterpoint", description=HELP["about"], formatter_class=Plain)
    parser.add_argument("--version", action="version", version=f"counterpoint {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, about in HELP["commands"].items():
        settings: Any = {"help": about["help"]} | (
            {"description": HELP[name]} if name in HELP else {}
        )
        if "end" in about:
            end = "".join(HELP[part] for part in about["end"])
            settings |= {"epilog": end, "formatter_class": Plain}
        command = commands.add_parser(name, **settings)
        for title, flags in about.get("groups", {}).items():
            add_flags(command.add_argument_group(title) if title else command, flags, name)
        usage = command.format_usage()
        parser.flags[name] = list(dict.fromkeys(re.findall(r"--[a-z][a-z-]*", usage)))
    return parser


def add_flags(group: argparse._ActionsContainer, flags: str, command: str) -> None:
    """Add the flags of a group, as they are for a command."""
    for several in flags.split():
        names = several.split("|")
        one = group.add_mutually_exclusive_group(required=True) if len(names) > 1 else group
        for name in names:
            settings = {**FLAGS.get(f"{command} {name}", FLAGS.get(name, {}))}
            if "type" in settings:
                settings["type"] = TYPES[settings["type"]]
            if "several" in settings:
                settings |= {"dest": settings.pop("several"), "action": "append", "default": []}
                settings["help"] += "; may be repeated"
            one.add_argument(name, **settings)
