"""Install what is built, as a user does, and try it: `make check-all`, and the forge's workflow.

Builds the wheel and the sdist, installs them into empty environments (the base, each extra alone,
the lowest declared versions, other versions of Python) and runs a probe in each. The client of
tests/packages is checked by mypy --strict and pyright against the installed wheel.

    python -m scripts.packages                      # everything, with this Python
    python -m scripts.packages --only figures dask  # these extras only
    python -m scripts.packages --pythons python3.12 python3.13
    python -m scripts.packages --lowest             # each extra with the lowest versions, too
    python -m scripts.packages --lowest tests/unit  # and these tests with them
    python -m scripts.packages --only --lowest tests/unit  # the same, and no extra
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "tests" / "packages" / "client.py"
LOWEST = "--resolution=lowest-direct"
LEAN = ("altair", "dask", "fastapi", "matplotlib", "pyarrow", "rich", "sklearn")  # not in the base
MOST_MEGABYTES = 1.0  # of the wheel

BEGIN = """
import counterpoint as cp
import pandas as pd
data = pd.DataFrame({"age": range(20, 60), "duration": [12, 24, 36, 48] * 10})
explainer = cp.Explainer(
    lambda rows: (rows["age"] - rows["duration"] + 48) / 120, data, classes=["bad", "good"]
)
few = cp.Search(evaluations=200)
found = explainer.explain({"age": 30, "duration": 48}, "good", few)
assert found.status == "found"
"""
MODEL = """
from sklearn.linear_model import LogisticRegression
model = LogisticRegression(max_iter=1000).fit(data, data["age"] > data["duration"])
"""
PROBES = {
    "base": BEGIN
    + """
found.save("row.json")
assert len(cp.load("row.json")) == len(found)
found.report("row.html", figures=False)
try:
    found.plot.frequency()
except cp.MissingDependency as error:
    assert 'pip install "counterpoint[figures]"' in str(error)
""",
    "figures": BEGIN + 'found.plot.frequency().save("x.svg"); found.report("row.html")',
    "parquet": BEGIN + 'cp.save_many([found], "x.parquet"); next(iter(cp.load_many("x.parquet")))',
    "skops": BEGIN
    + MODEL
    + 'import skops.io; skops.io.dump(model, "m.skops"); cp.load_model("m.skops")',
    "onnx": BEGIN
    + MODEL
    + 'cp.Explainer(model, data, accelerate="onnx").explain(data[:1], "opposite", few)',
    "cli": BEGIN
    + MODEL
    + """
import skops.io, subprocess, sys
skops.io.dump(model, "m.skops")
data.to_csv("d.csv", index=False)
words = "explain --model m.skops --data d.csv --row 0 --target opposite --evaluations 200"
subprocess.run([sys.executable, "-m", "counterpoint", *words.split()], check=True)
""",
    "dask": BEGIN
    + """
import dask.dataframe as dd
rows = dd.from_pandas(data[:4], npartitions=2)
assert len(cp.explain_frame(explainer, rows, "good", few).compute())
""",
    "remote": BEGIN
    + """
import fsspec
with fsspec.open("memory://rows/one.csv", "w") as file:
    data[:4].to_csv(file, index=False)
print(cp.explain_files(explainer, "memory://rows/*.csv", "good", few, out="done"))
""",
    "mlflow": BEGIN
    + """
import os, pathlib
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # a database needs the whole of MLflow
import mlflow
mlflow.set_tracking_uri(pathlib.Path("runs").absolute().as_uri())
with mlflow.start_run():
    address = cp.log_result(found, "one")
assert len(cp.load_logged(address)) == len(found)
""",
    "serve": BEGIN + "import counterpoint.explorer.server",
    "demo": 'from counterpoint import demo; demo.main(["--report", "x.html"])',
}


def run(*words: str | Path, where: Path | None = None, **variables: str) -> str:
    """Run a command and return what it prints; end with all of it where it fails."""
    done = subprocess.run(  # noqa: S603 - our own words
        [str(word) for word in words],
        cwd=where,
        capture_output=True,
        text=True,
        env=_clean() | variables,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))[:300]}\n{done.stdout}{done.stderr}")
    return done.stdout


def _clean() -> dict[str, str]:
    """Return the environment without what would let Python see the sources."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def environment(folder: Path, what: Sequence[str], python: str, *options: str) -> Path:
    """Make an empty environment with packages in it, and return its Python."""
    run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", python, folder)
    made = folder / "bin" / "python"
    run(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", made, *options, *what)
    return made


def lowest_environment(folder: Path, what: Sequence[str], extra: str, python: str) -> Path:
    """Make one with the lowest versions declared, for uv takes the newest of what a wheel needs."""
    extras = [] if extra == "base" else ["--extra", extra]
    made = environment(folder, ["-r", f"{ROOT / 'pyproject.toml'}", *extras], python, LOWEST)
    run(sys.executable, "-m", "uv", "pip", "install", "-q", "--python", made, "--no-deps", *what)
    return made


def megabytes(folder: Path) -> float:
    """Return the size of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def try_extra(extra: str, wheel: Path, work: Path, python: str, *, is_lowest: bool = False) -> str:
    """Install a wheel with one extra, run its probe, and say how large and how quick it is."""
    name = f"{extra}-{len(list(work.iterdir()))}"
    if is_lowest:
        made = lowest_environment(work / name, [str(wheel)], extra, python)
    else:
        what = str(wheel) if extra == "base" else f"{wheel}[{extra}]"
        made = environment(work / name, [what], python)
    (work / f"{name}-files").mkdir()
    begun = time.perf_counter()
    as_python = "0" if extra == "base" else "1"  # extras have no kernels of their own
    run(made, "-c", PROBES[extra], where=work / f"{name}-files", NUMBA_DISABLE_JIT=as_python)
    seconds = time.perf_counter() - begun
    return f"{extra:8} {megabytes(work / name):6.0f} MB, probe {seconds:5.1f} s"


def try_base(wheel: Path, work: Path, python: str) -> None:
    """Check that the base is lean, and that the demo says which extra it wants."""
    made = environment(work / "lean", [str(wheel)], python)
    code = f"import importlib.util as u; print([n for n in {LEAN!r} if u.find_spec(n)])"
    assert run(made, "-c", code) == "[]\n", "the base installs what only an extra needs"
    begun = time.perf_counter()
    run(made, "-c", "import counterpoint")
    print(f"import   {time.perf_counter() - begun:.2f} s, Python's own start included")
    told = subprocess.run(  # noqa: S603 - our own words
        [made, "-m", "counterpoint.demo"], capture_output=True, text=True, env=_clean(), check=False
    )
    assert 'pip install "counterpoint[demo]"' in told.stderr, told.stderr


def try_types(wheel: Path, work: Path, python: str) -> None:
    """Check a client of the installed wheel by mypy and pyright, both strict."""
    made = environment(work / "types", [str(wheel), "pandas-stubs", "mypy"], python)
    run(made, "-m", "mypy", "--strict", CLIENT, where=work)
    strict = work / "client.py"
    strict.write_text(f"# pyright: strict, reportUnknownMemberType=false\n{CLIENT.read_text()}")
    run(sys.executable, "-m", "pyright", "--pythonpath", made, strict, where=work)
    print("types    the client passes mypy --strict and pyright in strict mode")


def try_lowest(work: Path, python: str, tests: Sequence[str]) -> None:
    """Run tests with the lowest versions that pyproject.toml declares."""
    made = lowest_environment(work / "lowest", ["-e", str(ROOT)], "dev", python)
    # onnxmltools 1.14 installs its own tests as a package called `tests`, which would hide ours.
    for strangers in (work / "lowest").rglob("site-packages/tests"):
        shutil.rmtree(strangers)
    words = ("-m", "pytest", "-q", "-n", "2", "--dist", "worksteal")  # as make test
    print(run(made, *words, *tests, where=ROOT).splitlines()[-1])


def main() -> None:
    """Build, install and try; print a line for each environment."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", choices=PROBES, default=list(PROBES), metavar="EXTRA")
    parser.add_argument("--pythons", nargs="*", default=[], help="other Pythons, by name or path")
    parser.add_argument(
        "--lowest",
        nargs="*",
        metavar="TEST",
        help="try extras, and run tests, with lowest versions",
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        run(sys.executable, "-m", "build", "--quiet", "--outdir", work / "dist", ROOT)
        (wheel,), (sdist,) = work.glob("dist/*.whl"), work.glob("dist/*.tar.gz")
        assert wheel.stat().st_size < MOST_MEGABYTES * 1e6, "the wheel is too large"
        for name, file in (("wheel", wheel), ("sdist", sdist)):
            print(f"{name:8} {file.stat().st_size / 1e6:.2f} MB")
        try_base(wheel, work, sys.executable)
        try_types(wheel, work, sys.executable)
        for extra in given.only:
            print(try_extra(extra, wheel, work, sys.executable))
        print("sdist:  ", try_extra("base", sdist, work / "dist", sys.executable))
        lowest = ("base",) if given.lowest is None else given.only
        for extra in lowest:
            print("lowest: ", try_extra(extra, wheel, work, sys.executable, is_lowest=True))
        for python in given.pythons:
            print(f"{python}: {try_extra('base', wheel, work, python)}")
        if given.lowest:
            try_lowest(work, sys.executable, given.lowest)


if __name__ == "__main__":
    main()
