"""The command line: its flags, its commands, errors in one line, and the exit status.

The help, from which one can learn it, is in `help.toml`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import threading
import tomllib
import warnings
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from counterpoint.errors import CounterpointError, PredictorError, did_you_mean
from counterpoint.version import __version__

if TYPE_CHECKING:
    from counterpoint.result.counterfactuals import Counterfactuals

HELP: dict[str, Any] = tomllib.loads(files(__package__).joinpath("help.toml").read_text("utf-8"))
FLAGS: dict[str, str] = HELP["flags"]
METHODS = [
    *("default", "moc", "mocice", "moccond", "mocmod", "random", "what-if"),
    *("nice-sparsity", "nice-proximity", "nice-plausibility"),
]
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
        parameter = re.match(r"([a-z_]+)(?:\[(['\"])(.+?)\2\])?(?= )", text)
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


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def build_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(prog="counterpoint", description=HELP["about"], formatter_class=Plain)
    parser.add_argument("--version", action="version", version=f"counterpoint {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    add_explain(commands)
    add_batch(commands)
    add_serve(commands)
    of_schema = add_command(commands, "schema", HELP["kinds"])
    add_table(of_schema)
    add_columns(of_schema, is_read_only=True)
    of_show = commands.add_parser("show", help=FLAGS["show"])
    add(of_show, "file", type=Path)
    add(add_output(of_show), "--labels", type=Path, metavar="FILE")
    commands.add_parser("warm-up", help=FLAGS["warm-up"])
    flags = {name: command.format_usage() for name, command in commands.choices.items()}
    for name, usage in flags.items():
        parser.flags[name] = list(dict.fromkeys(re.findall(r"--[a-z][a-z-]*", usage)))
    return parser


def add(group: argparse._ActionsContainer, flag: str, about: str = "", **settings: Any) -> None:
    """Add an argument with its help, which may differ from command to command."""
    group.add_argument(flag, help=FLAGS[about or flag], **settings)


def add_several(group: argparse._ActionsContainer, flag: str, parameter: str, form: str) -> None:
    """Add an option that may be repeated."""
    settings: Any = {"dest": parameter, "action": "append", "default": [], "metavar": form}
    group.add_argument(flag, help=f"{FLAGS[flag]}; may be repeated", **settings)


def add_command(commands: Commands, name: str, end: str) -> Parser:
    """Add a command that reads a table; return it."""
    about: Any = {"description": HELP[name]} if name in HELP else {}
    settings: Any = {"help": FLAGS[name], "epilog": end, "formatter_class": Plain}
    return commands.add_parser(name, **about, **settings)


def add_model_command(commands: Commands, name: str) -> Parser:
    """Add a command that needs a model and its data, in one file or in several; return it."""
    end = HELP["asked"] + HELP["kinds"] + HELP.get(f"{name}_end", "")
    command = add_command(commands, name, end)
    model = command.add_argument_group("the model")
    add(model, "--model", type=Path, required=True, metavar="FILE")
    add(model, "--classes", metavar="A,B")
    add_several(model, "--trust", "trust", "TYPE")
    add(model, "--most-bytes", type=int, default=2**30, metavar="N")
    add(model, "--allow-pickle", action="store_true")
    add_table(command, several=name == "batch")
    add_columns(command)
    return command


def add_explain(commands: Commands) -> None:
    """Add the command that explains rows."""
    explain = add_model_command(commands, "explain")
    asked = explain.add_argument_group("what is asked")
    which = asked.add_mutually_exclusive_group(required=True)
    add(which, "--row", "explain --row", type=int, action="append", metavar="N")
    add(which, "--rows", "explain --rows", type=Path, metavar="FILE")
    add(asked, "--target", required=True)
    add(asked, "--seed", type=int, default=0, metavar="N")
    add_limits(explain)
    add_search(explain)
    add(add_output(explain), "--out", "explain --out", type=Path, metavar="FILE")


def add_batch(commands: Commands) -> None:
    """Add the command that explains all rows of many files."""
    batch = add_model_command(commands, "batch")
    asked = batch.add_argument_group("what is asked")
    add(asked, "--rows", "batch --rows", nargs="+", required=True, metavar="FILE")
    add(asked, "--target", required=True)
    add(asked, "--id", metavar="COLUMN")
    add(asked, "--seed", type=int, default=0, metavar="N")
    add_limits(batch)
    add_search(batch, seconds=False)
    engine = batch.add_argument_group("who does the work")
    add(engine, "--engine", choices=["threads", "dask"], default="threads")
    add(engine, "--scheduler", metavar="ADDRESS")
    add(engine, "--workers", type=int, metavar="N")
    add(engine, "--row-timeout", type=float, default=120.0, metavar="S")
    output = batch.add_argument_group("the output")
    add(output, "--out", "batch --out", required=True, metavar="FOLDER")
    add(output, "--keep", type=int, default=10, metavar="N")
    add(output, "--part-rows", type=int, default=10_000, metavar="N")
    add(output, "--prefix", metavar="TEXT")
    add(output, "--json", "batch --json", action="store_true")


def add_serve(commands: Commands) -> None:
    """Add the command that opens the explorer."""
    serve = add_model_command(commands, "serve")
    server = serve.add_argument_group("the server")
    add(server, "--port", type=int, default=0, metavar="N")
    add(server, "--open", action="store_true")
    add(server, "--lang", "serve --lang", choices=["en", "de"], default="en")
    add(server, "--seconds", "serve --seconds", type=float, default=60.0, metavar="S")
    add(server, "--searches", type=int, default=2, metavar="N")
    asked = serve.add_argument_group("what the page starts with")
    add(asked, "--row", "serve --row", type=int, default=0, metavar="N")
    add(asked, "--rows", "serve --rows", type=Path, metavar="FILE")
    add(asked, "--target", "serve --target")
    add(asked, "--seed", type=int, default=0, metavar="N")
    add_limits(serve, costs=False)


def add_table(parser: Parser, *, several: bool = False) -> None:
    """Add where the observed rows are: in one file, or in several."""
    table = parser.add_argument_group("the data")
    if several:
        add(table, "--data", "batch --data", nargs="+", required=True, metavar="FILE")
    else:
        add(table, "--data", type=Path, required=True, metavar="FILE")
    add_several(table, "--drop", "drop", "COLUMN")


def add_columns(parser: Parser, *, is_read_only: bool = False) -> None:
    """Add what the columns are; who only looks at them needs neither remarks nor permissions."""
    columns = parser.add_argument_group("what the columns are")
    add_several(columns, "--feature", "features", "COLUMN=KIND")
    add_several(columns, "--group", "groups", "NAME=A,B")
    add(columns, "--precision", choices=["observed", "full"], default="observed")
    add_several(columns, "--unit", "units", "NAME=UNIT")
    add(columns, "--labels", type=Path, metavar="FILE")
    add_several(columns, "--protected", "protected", "NAME")
    if is_read_only:
        return
    add(columns, "--distance", default="range", choices=["range", "percentile", "mad"])
    missing: Any = {"action": "append", "nargs": "?", "const": True, "default": []}
    add(columns, "--allow-missing", metavar="NAME", **missing)


def add_limits(parser: Parser, *, costs: bool = True) -> None:
    """Add what may change: the parameters of `Limits`."""
    limits = parser.add_argument_group("what may change")
    add_several(limits, "--fixed", "fixed", "NAME")
    add(limits, "--vary", action="append", metavar="NAME")
    add_several(limits, "--range", "ranges", "NAME=A..B")
    add(limits, "--max-changed", type=int, metavar="N")
    add_several(limits, "--constraint", "constraints", "TEXT")
    if costs:
        add_several(limits, "--cost", "costs", "NAME=X")


def add_search(parser: Parser, *, seconds: bool = True) -> None:
    """Add budget and method; what ends by the clock differs from run to run."""
    search = parser.add_argument_group("the search")
    add(search, "--evaluations", type=int, metavar="N")
    if seconds:
        add(search, "--seconds", "explain --seconds", type=float, metavar="S")
    add(search, "--method", default="default", choices=METHODS, metavar="NAME")


def add_output(parser: Parser) -> argparse._ArgumentGroup:
    """Add how results are shown; return the group."""
    output = parser.add_argument_group("the output")
    add(output, "--show", type=int, default=10, metavar="N")
    add(output, "--json", "explain --json", action="store_true")
    add(output, "--lang", "explain --lang", choices=["en", "de"])
    add(output, "--reader", choices=["customer", "analyst"])
    for flag in ("--report", "--letter", "--csv"):
        add(output, flag, type=Path, metavar="FILE")
    add(output, "--sender", default="", metavar="TEXT")
    add(output, "--closing", default="", metavar="TEXT")
    return output
