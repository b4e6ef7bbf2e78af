"""Explainer: fits what it needs once, then explains rows; the only place that knows every step."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from counterpoint.checks import require_package
from counterpoint.errors import DataWarning, ModelWarning
from counterpoint.explainer.building import (
    Built,
    EncodedData,
    Given,
    check_allowed,
    check_weights,
    find_ids,
    read_for,
    remarks_on_data,
)
from counterpoint.explainer.group import MEMORY, check_memory, check_results_fit, search_groups
from counterpoint.explainer.processes import Searchers
from counterpoint.explainer.task import Task, Work
from counterpoint.explainer.verification import Verification, proving, verify_rows
from counterpoint.explainer.warm_up import warm_up
from counterpoint.neighbours.gower import Gower
from counterpoint.problem.limits import CheckedLimits, LimitKeywords, Limits, join_limits
from counterpoint.problem.own_objectives import Distance, Objective, Plausibility, check_objectives
from counterpoint.problem.target import TargetLike
from counterpoint.progress import Progress, Signals, Watch, stopped_by_signals, tell_interrupted
from counterpoint.result.counterfactuals import Counterfactuals
from counterpoint.result.judgement import Judgement, judge_rows
from counterpoint.result.long_table import OutputSchema, type_of_index
from counterpoint.search.settings import Explore, Search, WhatIf
from counterpoint.table.features import Declared, Precision
from counterpoint.table.frames import Rows
from counterpoint.table.labels import Labels, Lang
from counterpoint.table.schema import Encoding, infer_schema, remarked


class Explainer(Built):
    """Explains rows of one table to one model's users.

    Parameters
    ----------
    model : callable, object with `predict_proba` or `predict`, or one of the following
        Takes rows as `data` has them and returns scores of shape (n,), (n, 1) or (n, classes);
        scikit-learn estimators and pipelines as they are. Also models of XGBoost, LightGBM and
        CatBoost, PyTorch modules, Keras 3 models, ONNX files and sessions, MLflow's `pyfunc`,
        a `RemoteModel`, and what `load_model` and `one_output` return.
    data : DataFrame of pandas or polars, Table of pyarrow, or array of shape (n, columns)
        The observed rows, features only. It is never modified. The model is asked with rows of the
        same kind and dtypes, and results come in them; the columns of an array are 0, 1, ...
    precision : {"observed", "full"}, default="observed"
        Search float columns on the decimals seen in the data, so that what is returned is what
        was searched and scored; or on the reals, as the paper does.
    k : int, default=1
        How many nearest observed rows `implausibility` looks at.
    weights : sequence of k numbers, optional
        Their weights, the nearest first; scaled to sum to one. None weighs them equally.
    objectives : iterable of Objective, default=()
        What else is to be minimised: functions with names, which join the built-in four.
    distance : Gower or Distance, optional
        What `distance` is: Gower's, on which scale, or another in its place.
    plausibility : ForestPlausibility or Objective, optional
        What `implausibility` is, in place of the nearness of observed rows.
    classes : sequence, optional
        Class labels of a callable, in the order of its columns; with two labels a single column
        is the probability of the second.
    features : dict of column name to kind, optional
        What a column is, where that is not what it looks like: ``Integer(18, 90)``,
        ``Real(0, 1, decimals=2)``, ``Ordered(["low", "mid", "high"])``, ``Categorical()``,
        ``Date("2020-01-01", "2024-12-31")``. `schema` prints what is used.
    groups : dict of name to list of columns, optional
        Columns that are one feature of that name, one-hot encoded, full or without the first.
        Others are looked for among columns of the same prefix and announced by one `DataWarning`;
        ``{}`` keeps all apart, and so does declaring one of a group's columns in `features`.
    allow_missing : iterable of column names or bool, default=False
        What counterfactuals may lack though the row has it; the data must miss some of its values
        too. True allows all such. What the row lacks may always stay missing.
    units : dict of feature name to str, optional
        What numbers are counted in, for texts and figures: ``{"duration": "months"}``.
    labels : Labels, optional
        What people call features, levels, classes and the outcome, in texts, figures and pages.
    protected : iterable of feature names, default=()
        Features never proposed to people as something to change; searches may, unless `fixed`.
    accelerate : {"onnx"} or None, default=None
        Let ONNX Runtime score the candidates in the model's place; what is returned is scored by
        the model itself. Needs the extra `counterpoint[onnx]`. A model that cannot be converted,
        or disagrees with its converted self, is used as it is, with an `AcceleratorWarning`.

    Examples
    --------
    >>> import counterpoint as cp, pandas as pd
    >>> data = pd.DataFrame({"income": [10, 20, 30, 40], "debt": [5.0, 4.0, 2.5, 1.0]})
    >>> def accept(rows):
    ...     return 1 / (1 + np.exp(0.8 * rows["debt"] - 0.1 * rows["income"]))
    >>> explainer = cp.Explainer(accept, data)
    >>> found = explainer.explain({"income": 12, "debt": 4.5}, target=(0.5, 1.0), seed=0)
    >>> list(found.to_frame().columns)
    ['income', 'debt', 'valid', 'prediction', 'gap', 'distance', 'changes', 'implausibility']
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        *,
        precision: Precision = "observed",
        k: int = 1,
        weights: Sequence[float] | None = None,
        objectives: Iterable[Objective] = (),
        distance: Gower | Distance | None = None,
        plausibility: Plausibility | Objective | None = None,
        classes: Sequence[Any] | None = None,
        features: Mapping[Any, Declared] | None = None,
        groups: Mapping[Any, Sequence[Any]] | None = None,
        allow_missing: Iterable[Hashable] | bool = False,
        units: Mapping[Any, str] | None = None,
        labels: Labels | None = None,
        protected: Iterable[Hashable] = (),
        accelerate: Literal["onnx"] | None = None,
    ) -> None:
        frame, form = read_for(model, data)
        plain = infer_schema(frame, precision, features, groups)
        encoding = Encoding(schema := remarked(plain, units, protected, labels), form)
        encoded = EncodedData(
            encoding,
            genomes=encoding.encode(frame, "data"),
            may_miss=check_allowed(allow_missing, schema),
            shares=check_weights(k, weights, len(frame)),
            labels=frame.index.to_flat_index(),
        )
        given = Given(model, check_objectives(objectives), distance, plausibility, classes)
        warm_up(Explainer)  # before the first kernel is needed, so that it is told once
        self._build(encoded, given, accelerate)
        if labels is not None:
            schema.labels.check_classes(self.classes)
        for remark in self.predictor.own.remarks():
            warnings.warn(remark, ModelWarning, stacklevel=2)
        ids = find_ids(self.predictor.own, features or ())
        self._keep(tuple(feature.name for feature in ids))
        for remark in remarks_on_data(self.predictor.own, ids, features or ()):
            warnings.warn(remark, DataWarning, stacklevel=2)

    def output_schema(
        self,
        id: str | None = None,
        id_dtype: Any = "int64",
        prefix: str | None = None,
        search: Search | WhatIf | None = None,
    ) -> OutputSchema:
        """Return the columns of the long table that `explain_frame` makes, known beforehand.

        Parameters
        ----------
        id : str, optional
            The column of the rows that is handed through.
        id_dtype : dtype, default="int64"
            Its dtype.
        prefix : str, optional
            What is put before the names of the result's own columns; None puts `"cf_"` there if a
            feature or the id has the name of one of them.
        search : Search or WhatIf, optional
            The settings: `WhatIf` has a column `observed`, what the observed row is called.

        Returns
        -------
        OutputSchema
            `meta()` is an empty pandas frame, `arrow()` a schema of Arrow, `ddl()` one of Spark.

        Raises
        ------
        InvalidInput
            If two columns would have the same name.
        """
        labels = type_of_index(self.observed.labels) if isinstance(search, WhatIf) else None
        named = self.observed.aims.names, id, id_dtype, prefix, tuple(self.classes or ())
        return OutputSchema(self.schema.columns, *named, labels)

    def explain(
        self,
        row: Rows,
        target: TargetLike,
        search: Search | WhatIf | None = None,
        seed: int = 0,
        *,
        limits: Limits | None = None,
        progress: bool | None = None,
        **added: Unpack[LimitKeywords],
    ) -> Counterfactuals:
        """Return what would have had to be different for one row.

        Parameters
        ----------
        row : DataFrame of one row, Series or dict; an array if the data are one
            The row to explain, with every column of the data; it need not be of their kind. Other
            columns are ignored with a `DataWarning`.
        target : class label, set of them, (label, (low, high)), number, (low, high) or "opposite"
            The wanted outcome. A class is reached where the model's own `predict` says it, any of a
            set of classes where it says one of them; without a `predict` the largest probability
            decides, the first on ties. A label with an interval is about its probability; `None`
            leaves a side open; "opposite" wants any class but the one the model says now.
        search : Search, WhatIf or NICE, optional
            Budget and method; `Search()` if left out.
        seed : int, default=0
            Same seed, same result.
        limits : Limits, optional
            What counterfactuals may change.
        fixed, vary, ranges, max_changed, constraints, costs
            The same as `Limits` takes them, for a call of its own; they join `limits`.
        progress : bool, optional
            Whether to show a bar if it takes long; None shows it in a terminal or a notebook.

        Returns
        -------
        Counterfactuals
            The non-dominated set; `valid()` are those that reach the target.

        Raises
        ------
        InvalidInput, UnknownFeatureError
            If an argument cannot be used, or rules contradict each other, the limits or the row.
        PredictorError
            If the model fails.
        """
        checked = self._checked(self.explain, limits, added)
        task = Task.of(row, "row", target, search, seed, checked, self)
        with (
            Progress(1, task.search.most_candidates, progress) as bar,
            stopped_by_signals(watch := Watch(bar.hear)),
        ):
            return Work(self, task).search(np.arange(1), watch)[0]

    def explain_many(
        self,
        rows: Rows,
        target: TargetLike,
        search: Search | WhatIf | None = None,
        seed: int = 0,
        *,
        limits: Limits | None = None,
        workers: int | None = None,
        memory: float = MEMORY,
        progress: bool | None = None,
        **added: Unpack[LimitKeywords],
    ) -> list[Counterfactuals]:
        """Return one `Counterfactuals` per row, in order, searched side by side.

        One model call judges the candidates of many rows, which is where the time goes. Each row
        gets the same counterfactuals, bit for bit, as it would alone. Ctrl-C ends the search with
        what is done: the rows begun with the best so far, the others are left out.

        Parameters
        ----------
        rows : DataFrame, Table, list of dicts; an array if the data are one
            The rows to explain.
        target, search, seed, progress
        limits, fixed, vary, ranges, max_changed, constraints, costs
            As in `explain`, the same for all rows.
        workers : int, optional
            Threads that share the rows. None uses all cores if the model is known to bear several
            callers at once, as estimators of scikit-learn, XGBoost, LightGBM and CatBoost are, or
            says so by ``is_shared = True``; else one. It is one, too, where a rule or an objective
            is a function. A number is taken as a promise that all of them bear it. In long calls
            processes take the place of threads that leave cores idle, if all can be pickled.
        memory : float, default=4.0
            GiB that results and rows in flight may take together; more is refused beforehand.

        Returns
        -------
        list of Counterfactuals
            One per row; fewer if it was interrupted.

        Raises
        ------
        InvalidInput, UnknownFeatureError
            If an argument cannot be used, or the results would not fit into `memory`.
        PredictorError
            If the model fails.
        """
        checked = self._checked(self.explain_many, limits, added)
        task = Task.of(rows, "rows", target, search, seed, checked, self)
        memory, workers = check_memory(memory), self._workers(workers, checked)
        if len(task.explained.genomes):
            check_results_fit(Work(self, task).grouping(workers, memory), memory)
        found = list(self._results(task, workers, memory, progress, (signal.SIGINT,)))
        if len(found) < len(task.explained.genomes):
            tell_interrupted(len(found), len(task.explained.genomes))
        return found

    def explain_each(
        self,
        rows: Rows,
        target: TargetLike,
        search: Search | WhatIf | None = None,
        seed: int = 0,
        *,
        limits: Limits | None = None,
        workers: int | None = None,
        memory: float = MEMORY,
        progress: bool | None = None,
        **added: Unpack[LimitKeywords],
    ) -> Iterator[Counterfactuals]:
        """Yield one `Counterfactuals` per row, in order: for more rows than results fit in memory.

        Rows are searched side by side in groups, as by `explain_many` and with the same results.
        Those of a group are yielded when it is done; no more than `memory` is in use at a time, as
        long as the caller does not keep them.

        Parameters
        ----------
        rows, target, search, seed, workers, progress
        limits, fixed, vary, ranges, max_changed, constraints, costs
            As in `explain_many`.
        memory : float, default=4.0
            GiB that rows in flight and results not yet taken may use.

        Yields
        ------
        Counterfactuals
            One per row.

        Examples
        --------
        >>> import counterpoint as cp, pandas as pd
        >>> data = pd.DataFrame({"age": [20, 50]})
        >>> explainer = cp.Explainer(lambda rows: rows["age"] / 100, data)
        >>> [found.status for found in explainer.explain_each(data, target=(0.4, 1.0))]
        ['found', 'already_met']
        """
        checked = self._checked(self.explain_each, limits, added)
        task = Task.of(rows, "rows", target, search, seed, checked, self)
        memory, workers = check_memory(memory), self._workers(workers, checked)
        return self._results(task, workers, memory, progress)

    def judge(
        self,
        frame: Rows,
        row: Rows,
        target: TargetLike,
        limits: Limits | None = None,
        *,
        safety: Iterable[Any] | None = None,
        **added: Unpack[LimitKeywords],
    ) -> Judgement:
        """Return what is to be said of rows that anybody made, as counterfactuals of one row.

        Parameters
        ----------
        frame : DataFrame, Table, list of dicts; an array if the data are one
            The rows to judge, with every column of the data; others are ignored with a remark.
        row, target, limits, fixed, vary, ranges, max_changed, constraints, costs
            What they would explain, as in `explain`.
        safety : iterable of models, optional
            Other models to ask, such as refits on bootstrap samples of the data.

        Returns
        -------
        Judgement
            One line for each row: validity, objectives, what it breaks, plausibility, norms.
        """
        given = self.encoding.as_frame(frame, "frame")
        none = np.empty((0, len(self.schema)))
        genomes = self.encoding.encode(given, "frame") if len(given) else none
        checked = self._checked(self.judge, limits, added)
        task = Task.of(row, "row", target, None, 0, checked, self)
        with self.predictor.one_thread():
            return judge_rows(Work(self, task).problem(np.arange(1)), genomes, given.index, safety)

    def verify(
        self,
        rows: Rows,
        target: TargetLike,
        limits: Limits | None = None,
        *,
        search: Explore | None = None,
        seed: int = 0,
        workers: int | None = None,
        **added: Unpack[LimitKeywords],
    ) -> Verification:
        """Say of each row whether a counterfactual exists, and whether that is proved.

        If limits and rules leave at most 20,000 rows, the model is asked about all of them. If not,
        a search looks for one, and a solver for a proof that there is none.

        Parameters
        ----------
        rows, target, seed, workers, limits, fixed, vary, ranges, max_changed, constraints, costs
            As in `explain_many`. Of many rows, or for Dask, see `verify_frame`.
        search : Explore, optional
            Budget of the search; its `seconds`, 10 for each row if not given, are the solver's too.
        """
        joined = join_limits(self.verify, limits, added)
        checked = joined.check(self.schema, self.kept)
        task = Task.of(rows, "rows", target, proving(search), seed, checked, self)
        asked: Any = {"target": target, "search": task.search, "seed": seed, "limits": joined}
        return verify_rows(Work(self, task), partial(self.explain_many, workers=workers, **asked))

    def serve(
        self, rows: Rows | None = None, *, port: int = 0, opens: bool = True, lang: Lang = "en"
    ) -> None:
        """Show the explorer of this model, to pick from `rows` or the data, until Ctrl-C."""
        frame = None if rows is None else self.encoding.as_frame(rows, "rows")
        for name in ("fastapi", "uvicorn", "counterpoint.explorer.server"):
            server = require_package(name, "Explainer.serve", '"counterpoint[serve]"')
        server.serve_model(self, frame, port, lang, opens=opens)

    def __setstate__(self, state: tuple[EncodedData, bytes, Literal["onnx"] | None]) -> None:
        warm_up(Explainer)
        super().__setstate__(state)

    def _checked(
        self, door: Callable[..., Any], limits: Limits | None, added: LimitKeywords
    ) -> CheckedLimits:
        """Return the limits of a call checked against the data; without any, those made once."""
        if limits is None and not added:
            return self.unlimited
        return join_limits(door, limits, added).check(self.schema, self.kept)

    def _results(
        self, task: Task, workers: int, memory: float, progress: bool | None, held: Signals = ()
    ) -> Iterator[Counterfactuals]:
        """Yield the results of the rows in order, group by group.

        Signals that are `held` stop the search between two groups, too, where they would otherwise
        raise, and lose all results of a call that gathers them.
        """
        if len(task.explained.genomes) == 0:
            return
        work = Work(self, task)
        grouping = work.grouping(workers, memory)
        n = grouping.workers
        n_threads = n if n > 1 and self._bears_threads else 1
        with (
            Progress(grouping.n_rows, task.search.most_candidates, progress) as bar,
            stopped_by_signals(watch := Watch(bar.hear), held),
            Searchers(work, n, n_threads, memory, watch) as searchers,
            # Threads go on while the caller looks at a result: the limit must hold then too.
            self.predictor.one_thread() if n > 1 else nullcontext(),
        ):
            for results in search_groups(grouping, searchers, watch, n - 1):
                yield from results
