"""The tables of the speed benchmark, in Markdown."""

from __future__ import annotations

from typing import Any

# CPU seconds of the authors' R package for one row, 3,500 evaluations, a forest of 100 trees on the
# diabetes data: plain, and with the conditional mutator.
R_SECONDS = (51.0, 126.0)


def as_markdown(results: dict[str, Any]) -> str:
    """Return the tables for docs/performance.md, of each part that was measured."""
    tables = {
        "sizes": sizes_text,
        "models": models_text,
        "start": start_text,
        "r": r_text,
        "peers": peers_text,
    }
    parts = ["<!-- written by `make bench`; do not edit -->", "# Speed, as measured"]
    for name, show in tables.items():
        if name in results:
            title, text = show(results[name])
            parts += [f"## {title}", measured_with(results[name]["machine"]), text]
    return "\n\n".join(parts) + "\n"


def measured_with(machine: dict[str, Any]) -> str:
    """Return when and with what a part was measured."""
    return "Measured with " + ", ".join(f"{key} {value}" for key, value in machine.items()) + "."


def sizes_text(part: dict[str, Any]) -> tuple[str, str]:
    """Return the title and the tables of sizes."""
    from benchmarks import sizes  # which uses `table_of`

    return "Tables of many sizes, cores, start-up and memory", sizes.as_markdown(part["sizes"])


def models_text(part: dict[str, Any]) -> tuple[str, str]:
    """Return the title and the tables of all kinds of models."""
    texts = [
        "**Many rows**",
        many_table(part["many"]),
        "**Where our own time goes** (milliseconds per row, many rows, one core)",
        split_table(part["many"]),
        "**One row**",
        one_table(part["one"]),
    ]
    return "Models of all kinds", "\n\n".join(texts)


def peers_text(part: dict[str, Any]) -> tuple[str, str]:
    """Return the title and the tables of the peers."""
    from benchmarks import peers

    return "Against the peers", peers.as_markdown(part["peers"])


def table_of(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def many_table(records: list[dict[str, Any]]) -> str:
    """Return the ratios to the limit."""
    header = [
        "model",
        "rows",
        "total, 1 core (CPU ms/row)",
        "limit (CPU ms/row)",
        "**total ÷ limit**",
    ]
    header += [
        "total, all cores (wall)",
        "limit, the model's own threads (wall)",
        "**total ÷ limit**",
    ]
    rows = [
        [
            r["model"],
            f"{r['rows']}",
            f"{r['total_ms']:.1f}",
            f"{r['limit_ms']:.1f}",
            f"{r['ratio_one_core']:.2f}",
            f"{r['total_all_cores_ms']:.1f}",
            f"{r['limit_all_cores_ms']:.1f}",
            f"{r['ratio_all_cores']:.2f}",
        ]
        for r in records
    ]
    return table_of(header, rows)


def split_table(records: list[dict[str, Any]]) -> str:
    """Return the phases of our own time."""
    phases = ["variation", "distances", "selection", "frames", "rest"]
    rows = [
        [r["model"], f"{r['own_ms']:.1f}", *(f"{r['split_ms'].get(p, 0.0):.2f}" for p in phases)]
        for r in records
    ]
    note = "\n\nNo hypervolume is computed while searching: whether it grew follows from dominance."
    return table_of(["model", "own", *phases], rows) + note


def one_table(records: list[dict[str, Any]]) -> str:
    """Return single rows against their plain calls."""
    header = ["model", "total (ms)", "the same calls made plainly (ms)", "**total ÷ calls**"]
    header += ['with `accelerate="onnx"` (ms)', "paper's search (ms)"]
    rows = [
        [
            r["model"],
            f"{r['total_ms']:.0f}",
            f"{r['plain_calls_ms']:.0f}",
            f"{r['ratio_plain_calls']:.2f}",
            f"{r['onnx_ms']:.0f}" if isinstance(r["onnx_ms"], float) else r["onnx_ms"],
            f"{r['paper_ms']:.0f}",
        ]
        for r in records
    ]
    return table_of(header, rows)


def start_text(part: dict[str, Any]) -> tuple[str, str]:
    """Return the title and the table of start-up and memory."""
    start, memory = part["start"], part["memory"]
    rows = [
        ["`import counterpoint`", f"{start['import_s']:.2f} s"],
        ["fresh process to a first result, kernels cached", f"{start['default_result_s']:.1f} s"],
        [
            "compiling the kernels of the default search, once per machine",
            f"{start['default_compile_s']:.1f} s",
        ],
        [
            "compiling all kernels, those of the paper's searches too",
            f"{start['every_compile_s']:.1f} s",
        ],
        [
            f"memory of explaining {memory['rows']} rows on all cores, results kept",
            f"{memory['peak_mib'] - memory['before_mib']:.0f} MiB above {memory['before_mib']:.0f}",
        ],
    ]
    return "Start-up and memory", table_of(["what", "measured"], rows)


def r_text(part: dict[str, Any]) -> tuple[str, str]:
    """Return the title and the ratios to the R package."""
    r = part["r"]
    rows = [
        [
            label,
            f"{theirs:.0f} s",
            f"{r[key + '_alone_s']:.3f} s",
            f"{r[key + '_alone_times']:,.0f} times",
            f"{r[key + '_many_s']:.4f} s",
            f"{r[key + '_many_times']:,.0f} times",
        ]
        for label, key, theirs in (
            ("default search, against R's plain search", "default", R_SECONDS[0]),
            ("paper's search (mocmod), against R's with its mutator", "paper", R_SECONDS[1]),
        )
    ]
    header = ["CPU per row, forest of 100 trees", "R", "ours, one row", "", "ours, many rows", ""]
    return "Against the authors' R package", table_of(header, rows)
