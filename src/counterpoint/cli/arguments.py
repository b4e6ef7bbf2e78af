"""The arguments of the command line, with a help text one can learn from."""

from __future__ import annotations

import argparse
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from counterpoint.errors import did_you_mean
from counterpoint.version import __version__

HELP: dict[str, str] = tomllib.loads(files(__package__).joinpath("help.toml").read_text("utf-8"))
NICES = ("nice-sparsity", "nice-proximity", "nice-plausibility")


def build_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(prog="counterpoint", description=HELP["about"], formatter_class=Plain)
    parser.add_argument("--version", action="version", version=f"counterpoint {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    add_explain(commands)
    add_batch(commands)
    add_serve(commands)
    about = "show what the columns of a table are taken for"
    schema = commands.add_parser("schema", help=about, epilog=HELP["kinds"], formatter_class=Plain)
    add_table(schema)
    add_columns(schema, is_read_only=True)
    show = commands.add_parser("show", help="show saved results")
    show.add_argument("file", type=Path, help="a .json or .parquet file that --out wrote")
    add_labels(add_output(show))
    commands.add_parser("warm-up", help="compile ahead of time what searches need, as for an image")
    parser.flags = {name: flags_in(command) for name, command in commands.choices.items()}
    return parser


def flags_in(command: argparse.ArgumentParser) -> list[str]:
    """Return the flags of a command."""
    return list(dict.fromkeys(re.findall(r"--[a-z][a-z-]*", command.format_usage())))


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


def add_command(
    commands: argparse._SubParsersAction[Parser],
    name: str,
    about: str,
    description: str,
    end: str = "",
    *,
    several: bool = False,
) -> Parser:
    """Add a command that needs a model and its data, in one file or in several; return it."""
    command = commands.add_parser(
        name,
        help=about,
        description=description,
        epilog=HELP["asked"] + HELP["kinds"] + end,
        formatter_class=Plain,
    )
    add_model(command)
    add_table(command, several=several)
    add_columns(command)
    return command


def add_explain(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command that explains rows."""
    explain = add_command(
        commands, "explain", "explain rows of a table", HELP["explain"], HELP["explain_end"]
    )
    asked = explain.add_argument_group("what is asked")
    which = asked.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--row",
        type=int,
        action="append",
        metavar="N",
        help="a row of the data, counted from 0; repeat it for several",
    )
    which.add_argument("--rows", type=Path, metavar="FILE", help="explain all rows of this table")
    asked.add_argument("--target", required=True, help="the wanted outcome, see below")
    asked.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same result")
    add_limits(explain)
    add_search(explain)
    output = add_output(explain)
    output.add_argument(
        "--out", type=Path, metavar="FILE", help="save to a .json file, or .parquet for many rows"
    )


def add_batch(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command that explains all rows of many files."""
    about = "explain all rows of many files, to be resumed where it ended"
    batch = add_command(commands, "batch", about, HELP["batch"], HELP["batch_end"], several=True)
    asked = batch.add_argument_group("what is asked")
    asked.add_argument(
        "--rows",
        nargs="+",
        required=True,
        metavar="FILE",
        help="the rows to explain: files (.parquet, .csv, .feather), folders, patterns in quotes, "
        "or URLs such as s3://bank/declined/*.parquet; columns that are no features are not read",
    )
    asked.add_argument("--target", required=True, help="the wanted outcome, see below")
    asked.add_argument(
        "--id", metavar="COLUMN", help="a column of the rows that is handed through to the output"
    )
    asked.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same result")
    add_limits(batch)
    add_search(batch, seconds=False)
    add_engine(batch)
    add_folder(batch)


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add who does the work of a batch job."""
    engine = parser.add_argument_group("who does the work")
    engine.add_argument(
        "--engine",
        choices=["threads", "dask"],
        default="threads",
        help="threads of this process, or the processes of a Dask cluster",
    )
    engine.add_argument(
        "--scheduler", metavar="ADDRESS", help="the cluster's; without it one is started here"
    )
    engine.add_argument(
        "--workers", type=int, metavar="N", help="threads or processes; all cores by default"
    )
    engine.add_argument(
        "--row-timeout",
        type=float,
        default=120.0,
        metavar="S",
        help="seconds after which a row that has no answer has failed, 120 by default",
    )


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add where a batch job writes to, and what."""
    output = parser.add_argument_group("the output")
    output.add_argument(
        "--out",
        required=True,
        metavar="FOLDER",
        help="the folder to write to; a job that was begun there goes on",
    )
    output.add_argument(
        "--keep",
        type=int,
        default=10,
        metavar="N",
        help="the most counterfactuals of a row that are written, 10 by default",
    )
    output.add_argument(
        "--part-rows",
        type=int,
        default=10_000,
        metavar="N",
        help="rows whose counterfactuals go into one file, 10,000 by default",
    )
    output.add_argument(
        "--prefix",
        metavar="TEXT",
        help="put before our own columns; cf_ if a feature has the name of one of them",
    )
    output.add_argument("--json", action="store_true", help="print the summary as JSON")


def add_serve(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command that opens the explorer."""
    serve = add_command(
        commands, "serve", "explore a model and its rows in a browser", HELP["serve"]
    )
    server = serve.add_argument_group("the server")
    server.add_argument("--port", type=int, default=0, metavar="N", help="0 takes a free one")
    server.add_argument("--open", action="store_true", help="open the page in a browser")
    about = "the language of the page, en by default"
    server.add_argument("--lang", choices=["en", "de"], default="en", help=about)
    server.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="the longest search, 60 by default"
    )
    server.add_argument(
        "--searches", type=int, default=2, metavar="N", help="searches at a time, 2 by default"
    )
    asked = serve.add_argument_group("what the page starts with")
    asked.add_argument("--row", type=int, default=0, metavar="N", help="a row, counted from 0")
    asked.add_argument("--rows", type=Path, metavar="FILE", help="pick rows from this table")
    asked.add_argument("--target", help="the wanted outcome, as in counterpoint explain")
    asked.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same result")
    add_limits(serve, costs=False)


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add where the model is, and how far its file is trusted."""
    model = parser.add_argument_group("the model")
    model.add_argument(
        "--model", type=Path, required=True, metavar="FILE", help="a .skops or .onnx file"
    )
    model.add_argument(
        "--classes", metavar="A,B", help="class labels, in the order of the model's columns"
    )
    about = "a type the .skops file may use besides those known to be harmless"
    add_several(model, "--trust", "trust", "TYPE", about)
    model.add_argument(
        "--most-bytes",
        type=int,
        default=2**30,
        metavar="N",
        help="bytes a .skops file may unpack to (default: 1073741824)",
    )
    model.add_argument(
        "--allow-pickle",
        action="store_true",
        help="also load .joblib and .pkl files. Loading a pickle runs code from the file: only "
        "for files you trust as you trust a program you start",
    )


def add_table(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add where the observed rows are: in one file, or in several."""
    table = parser.add_argument_group("the data")
    about = "the observed rows: .csv, .parquet or .feather"
    if several:
        table.add_argument(
            "--data", nargs="+", required=True, metavar="FILE", help=f"{about}; as --rows"
        )
    else:
        table.add_argument("--data", type=Path, required=True, metavar="FILE", help=about)
    about = "a column that is no feature, such as the outcome"
    add_several(table, "--drop", "drop", "COLUMN", about)


def add_columns(parser: argparse.ArgumentParser, *, is_read_only: bool = False) -> None:
    """Add what the columns are; who only looks at them needs neither remarks nor permissions."""
    columns = parser.add_argument_group("what the columns are")
    add_several(columns, "--feature", "features", "COLUMN=KIND", "what a column is, see below")
    about = "columns that are one feature, one-hot encoded; none keeps all columns apart"
    add_several(columns, "--group", "groups", "NAME=A,B", about)
    columns.add_argument(
        "--precision",
        choices=["observed", "full"],
        default="observed",
        help="search floats on the decimals seen in the data, or on the reals",
    )
    add_several(columns, "--unit", "units", "NAME=UNIT", "what a number is counted in")
    add_labels(columns)
    about = "a feature never proposed as one to change"
    add_several(columns, "--protected", "protected", "NAME", about)
    if is_read_only:
        return
    columns.add_argument(
        "--distance",
        default="range",
        choices=["range", "percentile", "mad"],
        help="the scale of Gower's distance: ranges, or one that outliers do not stretch",
    )
    columns.add_argument(
        "--allow-missing",
        action="append",
        nargs="?",
        const=True,
        default=[],
        metavar="NAME",
        help="a feature that counterfactuals may lack; without a name all that the data lack",
    )


def add_several(
    group: argparse._ArgumentGroup, flag: str, parameter: str, metavar: str, about: str
) -> None:
    """Add an option that may be repeated."""
    group.add_argument(
        flag,
        dest=parameter,
        action="append",
        default=[],
        metavar=metavar,
        help=f"{about}; may be repeated",
    )


def add_limits(parser: argparse.ArgumentParser, *, costs: bool = True) -> None:
    """Add what may change: the parameters of `Limits`."""
    limits = parser.add_argument_group("what may change")
    add_several(limits, "--fixed", "fixed", "NAME", "a feature that may not change")
    limits.add_argument(
        "--vary",
        action="append",
        metavar="NAME",
        help="a feature that may change, if only some may; may be repeated",
    )
    add_several(limits, "--range", "ranges", "NAME=A..B", "where a feature may go, see below")
    limits.add_argument("--max-changed", type=int, metavar="N", help="most features that change")
    about = "a rule every counterfactual must obey, see below"
    add_several(limits, "--constraint", "constraints", "TEXT", about)
    if costs:
        about = "how hard a feature is to change, 1 by default"
        add_several(limits, "--cost", "costs", "NAME=X", about)


def add_search(parser: argparse.ArgumentParser, *, seconds: bool = True) -> None:
    """Add budget and method; what ends by the clock differs from run to run."""
    search = parser.add_argument_group("the search")
    search.add_argument("--evaluations", type=int, metavar="N", help="rows the model may be asked")
    if seconds:
        search.add_argument("--seconds", type=float, metavar="S", help="time for a group of rows")
    search.add_argument(
        "--method",
        default="default",
        choices=["default", "moc", "mocice", "moccond", "mocmod", "random", "what-if", *NICES],
        metavar="NAME",
        help="default is our own; moc, mocice, moccond, mocmod and random are the paper's, what-if "
        f"takes the nearest observed rows, and {', '.join(NICES)} step towards one",
    )


def add_labels(group: argparse._ArgumentGroup) -> None:
    """Add where it is said what people call things."""
    about = "what people call features, levels, classes and the outcome: .toml or .json, see below"
    group.add_argument("--labels", type=Path, metavar="FILE", help=about)


def add_output(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add how results are shown; return the group."""
    output = parser.add_argument_group("the output")
    output.add_argument("--show", type=int, default=10, metavar="N", help="most to show for a row")
    output.add_argument("--json", action="store_true", help="print JSON, for machines")
    about = "say what was found in sentences of this language, not in a table"
    output.add_argument("--lang", choices=["en", "de"], help=about)
    about = (
        "who reads the sentences and the report: customer (of sentences) or analyst (of reports)"
    )
    output.add_argument("--reader", choices=["customer", "analyst"], help=about)
    for flag, about in (
        ("--report", "write a page for people: .html, of one row"),
        ("--letter", "write a letter to a customer, one page to print: .html, of one row"),
        ("--csv", "write the counterfactuals as comma-separated values: .csv, of one row"),
    ):
        output.add_argument(flag, type=Path, metavar="FILE", help=about)
    output.add_argument("--sender", default="", metavar="TEXT", help="who writes the letter")
    output.add_argument("--closing", default="", metavar="TEXT", help="the end of the letter")
    return output
