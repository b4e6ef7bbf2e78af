"""Predictor: the caller's model behind one door, asked in blocks, its answers checked."""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from counterpoint.arrays import LARGEST, Floats, Ints
from counterpoint.errors import CounterpointError, PredictorError, told_by
from counterpoint.models.adapters.scorer import adapt, asked_method, is_scorer, unbound
from counterpoint.models.additive import AdditiveModel, is_true, rows_at_thresholds
from counterpoint.models.fast_paths import quick_ways, quickest, trial_rows
from counterpoint.models.inspection import (
    TOLERANCE,
    Ask,
    ModelMethod,
    answers_alike,
    are_labels,
    are_likeliest,
    check_classes,
    check_columns,
    codes_of,
    hint_on,
    in_turns,
    is_invariant,
    is_known,
    no_probabilities,
    not_numbers,
    not_usable,
    remarks_on,
    several_outputs,
    wants_array,
    wrong_columns,
    wrong_shape,
)
from counterpoint.models.known_models import additive_of
from counterpoint.table.schema import Encoding

# A row's candidates are scored in blocks padded to a multiple of this: matrix products of such
# blocks give the same bits alone and merged with others (tested in `is_batch_invariant`).
BLOCK = 8
CHUNK = 65_536  # rows scored in one call where there may be very many


class Predictor:
    """Scores genomes with the caller's model.

    `model` is a callable, has `predict_proba` or `predict`, or is what `adapt` knows. It is asked
    once about the `observed` rows (n, d). `classes` are those of a callable, in the order of its
    outputs; estimators bring their own.
    """

    def __init__(
        self,
        model: Any,
        encoding: Encoding,
        observed: Floats,
        classes: Sequence[Any] | None = None,
    ) -> None:
        model = unbound(model)
        check_columns(model, [column.name for column in encoding.columns])
        model = adapt(model, classes)
        self.encoding, self.observed = encoding, observed
        # whom scores are asked of, and by which method
        self.model, self.method = asked_method(model)
        own = getattr(model, "classes_", None)
        # None for a model with a single output that is not a class
        self.classes = check_classes(classes, own)
        # whether it has classes but no probabilities, so that outputs are 0 or 1
        self.gives_only_labels = self.method == "predict" and own is not None
        self.tolerance = 0.0  # how far an accelerator's scores may be from the model's
        self.is_doubted = False  # whether a quick way is not asked, since it disagreed
        # the model as sums over trees or genes; None if it is none, or a trial tells otherwise
        self.additive: AdditiveModel | None = None
        self._own: Predictor | None = None
        self._twin: Predictor | None = None  # whose quick way is not asked
        self._threads = ThreadpoolController()
        said = getattr(self.model, "is_shared", None)
        # whether it is made of known types only, whose answer to a row does not depend on others
        self.is_known = is_known(self.model)
        # whether several threads may ask it at once: it says so, or is known to bear it
        self.is_shared = said if isinstance(said, bool) else self.is_known
        self._turn = threading.Lock() if is_scorer(model) and not self.is_shared else nullcontext()
        has_labels = self.method in ("predict_proba", "score") and hasattr(model, "predict")
        self._score = self._asked_plainly(self.method)
        self._predict = self._asked_plainly("predict") if has_labels else None
        self._name_columns()
        self.observed_outputs = self.in_chunks(observed)
        self._choose_ways()

    @property
    def own(self) -> Predictor:
        """The predictor that asks the model itself, where an accelerator answers in its place."""
        return self._own or self

    @property
    def is_accelerated(self) -> bool:
        """Whether an accelerator answers in the model's place."""
        return self._own is not None

    @property
    def is_quick(self) -> bool:
        """Whether the model is asked otherwise than its user would."""
        methods = (self._score, self._predict)
        return any(each is not None and each.quick is not each.plain for each in methods)

    @cached_property
    def plain(self) -> Predictor:
        """The predictor that asks the model as its user would, never in a quick way."""
        own = self.own
        if not own.is_quick:
            return own
        slow = own._copied()
        slow._twin = own
        slow._score = ModelMethod(own._score.plain, own._score.plain)
        if own._predict is not None:
            slow._predict = ModelMethod(own._predict.plain, own._predict.plain)
        return slow

    @property
    def trusted(self) -> Predictor:
        """Who may confirm in place of the model's user: the quick way of a known model only."""
        return self.own if self.is_known else self.plain

    @property
    def adds_columns(self) -> bool:
        """Whether answers may be sums over columns, which their order in memory rounds otherwise.

        Trees that were read, each column from one gene, compare numbers one by one.
        """
        has_trees = self.additive is not None and self.additive.forest is not None
        return self.is_doubted or not (self.is_known and has_trees)

    def doubted(self) -> Predictor:
        """Return `plain`, for a search in which the quick way disagreed with the model."""
        slow = self.plain._copied()
        slow.is_doubted = True
        return slow

    def _copied(self) -> Predictor:
        """Return a copy to be changed, which does not remember how it was asked plainly."""
        twin = copy.copy(self)
        twin.__dict__.pop("plain", None)
        return twin

    def remarks(self) -> list[str]:
        """Return what a caller should know of how the model answers."""
        asked = None if self.is_known else self.outputs
        return remarks_on(self.observed_outputs, self.observed, asked)

    def scored_by(self, ask: Ask, tolerance: float) -> Predictor:
        """Return a predictor whose scores come from an accelerator; labels stay the model's."""
        quick = self._copied()
        quick._own, quick.tolerance = self, tolerance
        quick._score = ModelMethod(self._score.plain, ask)
        return quick

    def taking_turns(self) -> Predictor:
        """Return a predictor that several threads may ask: if the model may not be, in turns."""
        if self.is_shared:
            return self
        polite, lock = self._copied(), threading.Lock()
        polite.is_shared = True
        polite._own = None if self._own is None else self._own.taking_turns()
        polite._score = in_turns(self._score, lock)
        polite._predict = None if self._predict is None else in_turns(self._predict, lock)
        return polite

    @cached_property
    def bears_threads(self) -> bool:
        """Whether two threads at once got the same answers as one: a trial, which is no proof."""

        def ask(genomes: Floats) -> Floats:
            with self.one_thread():
                return self.outputs(genomes)

        return answers_alike(ask, self.observed)

    def outputs(self, genomes: Floats) -> Floats:
        """Return the model's outputs for `genomes` (n, d): shape (n, c), finite, checked."""
        raw = self._ask(self._score, genomes)
        if self.gives_only_labels:
            codes = codes_of(raw, len(genomes), self.classes)
            return np.eye(len(self.classes or ()))[codes]
        outputs = as_scores(raw, len(genomes))
        least, most = outputs.min(initial=0.0), outputs.max(initial=0.0)  # NaN is within nothing
        if not -LARGEST <= least <= most <= LARGEST:
            raise not_usable(outputs, genomes, self.model, self.encoding)
        return outputs if self.classes is None else as_probabilities(outputs, self.classes)

    def blocks(self, genomes: Floats) -> Floats:
        """Return outputs (r, n, c) of genomes (r, n, d), all rows asked in one call."""
        return np.asarray(self._in_blocks(self.outputs, genomes))

    def label_blocks(self, genomes: Floats) -> Ints:
        """Return `labels` (r, n) of genomes (r, n, d), all rows asked in one call."""
        return np.asarray(self.own._in_blocks(self.own.labels, genomes))

    def _in_blocks(self, ask: Callable[[Floats], Any], genomes: Floats) -> Any:
        """Ask for genomes (r, n, d) with each row's block padded, merged if that changes no bit."""
        r, n, d = genomes.shape
        padded = pad(genomes)
        if r > 1 and not self.is_batch_invariant:
            answers = np.concatenate([ask(block) for block in padded])
        else:
            answers = ask(padded.reshape(-1, d))
        return answers.reshape(r, padded.shape[1], *answers.shape[1:])[:, :n]

    def uneven_blocks(self, blocks: Sequence[Floats]) -> list[Floats]:
        """Return the outputs (n_a, c) of blocks (n_a, d) of several rows, asked in one call."""
        return self._in_uneven_blocks(self.outputs, blocks)

    def uneven_labels(self, blocks: Sequence[Floats]) -> list[Ints]:
        """Return `labels` (n_a,) of blocks (n_a, d) of several rows, asked in one call."""
        return self.own._in_uneven_blocks(self.own.labels, blocks)

    def _in_uneven_blocks(
        self, ask: Callable[[Floats], Any], blocks: Sequence[Floats]
    ) -> list[Any]:
        """Ask for blocks (n_a, d), each padded as in `_in_blocks`: its company changes no bit."""
        padded = [pad(block[None])[0] for block in blocks]
        if len(blocks) > 1 and not self.is_batch_invariant:
            answers = [ask(block) for block in padded]
        else:
            ends = np.cumsum([len(block) for block in padded])[:-1]
            answers = np.split(ask(np.concatenate(padded)), ends)
        return [answer[: len(block)] for answer, block in zip(answers, blocks, strict=True)]

    def labels(self, genomes: Floats) -> Ints:
        """Return the class code the model's own `predict` gives each genome (n, d)."""
        if self._predict is None:  # a bare callable: its likeliest class is its decision
            return np.asarray(np.argmax(self.outputs(genomes), axis=-1))
        return codes_of(self._ask(self._predict, genomes), len(genomes), self.classes)

    @cached_property
    def observed_labels(self) -> Ints:
        """The class codes `predict` gives the observed rows."""
        return self.labels(self.observed)

    @cached_property
    def is_consistent(self) -> bool:
        """Whether on all observed rows `predict` names the likeliest class, the first on ties."""
        if self._predict is None:
            return True
        return are_likeliest(self.observed_labels, self.observed_outputs)

    @property
    def has_decision(self) -> bool:
        """Whether the model has a `predict` of its own, which may not name the likeliest class."""
        return self._predict is not None

    @cached_property
    def is_batch_invariant(self) -> bool:
        """Whether a row's block gets the same bits alone and merged with other rows.

        Checked once, on observed rows, in blocks and calls of the sizes a search uses.
        """
        if self._twin is not None:
            return self._twin.is_batch_invariant
        return is_invariant(self.outputs, self.observed, BLOCK)

    @property
    def is_known_variant(self) -> bool:
        """Whether merged scores were tried and found to differ from scores alone."""
        return not self.__dict__.get("is_batch_invariant", True)

    def one_thread(self) -> AbstractContextManager[None]:
        """Return a context that keeps the model's libraries on one thread."""
        return one_thread(self._threads)

    def in_chunks(self, genomes: Floats) -> Floats:
        """Return the outputs (n, c) of any number of genomes (n, d), asked in large chunks."""
        starts = range(0, len(genomes), CHUNK)
        return np.concatenate([self.outputs(genomes[i : i + CHUNK]) for i in starts])

    def _name_columns(self) -> None:
        """Give the columns of a callable that has several as classes; notice one with labels."""
        few = self.observed[:BLOCK]
        if self.classes is None:
            n_columns = as_scores(self._ask(self._score, few), len(few)).shape[1]
            if n_columns > 1 and self.method == "predict" and hasattr(self.model, "n_features_in_"):
                raise several_outputs(n_columns)  # a regressor's: classes would have been told
            self.classes = tuple(range(n_columns)) if n_columns > 1 else None
        elif self.method in ("__call__", "predict"):
            self.gives_only_labels |= are_labels(self._ask(self._score, few), self.classes)

    def _asked_plainly(self, method: str) -> ModelMethod:
        """Return a method of the model, asked as the model's user would: with frames."""
        function = getattr(self.model, method)
        decode = self._decode_of(self.model)

        def plain(genomes: Floats) -> Any:
            rows = decode(genomes)
            with self._turn:  # held only for an adapter that bears one thread at a time
                return function(rows)

        return ModelMethod(plain, plain)

    def _decode_of(self, model: Any) -> Callable[[Floats], Any]:
        """Return what turns genomes into the rows a model takes; it may write to them.

        Numbers lie in memory as the genomes do, by rows or by columns.
        Adapters are ours and take pandas; all others are asked with the caller's kind of table.
        """
        encoding = self.encoding
        if is_scorer(model):
            return lambda genomes: encoding.decode(genomes.copy("K"))
        if wants_array(model, encoding):
            return lambda genomes: encoding.by_column(genomes.copy("K"))
        return lambda genomes: encoding.to_rows(genomes.copy("K"))

    def _choose_ways(self) -> None:
        """Ask by the quickest ways that are exact; chosen here once, for it catches warnings."""
        rows_of = self._decode_of(self.model)
        with self.one_thread():
            sums = additive_of(self.model, rows_of, self.encoding, self.observed)
            ways = quick_ways(self.model, self.encoding, self.observed, sums)
            questions = trial_rows(self.observed) if ways or sums else []
            if sums is not None and sums.forest is not None:
                questions.append(rows_at_thresholds(sums.forest, self.encoding, questions[1]))
            quick = quickest(self.method, self._score.plain, ways, questions)
            self._score = self._score._replace(quick=quick)
            if self._predict is not None:
                quick = quickest("predict", self._predict.plain, ways, questions)
                self._predict = self._predict._replace(quick=quick)
            if sums is not None and is_true(sums, self.outputs, questions):
                self.additive = sums

    def _ask(self, method: ModelMethod, genomes: Floats) -> Any:
        """Ask the model; an error of its own gets the row count added."""
        if method.quick is not method.plain:
            with suppress(Exception):  # what a quick way cannot do, the model may
                return method.quick(genomes)
        try:
            return method.plain(genomes)
        except CounterpointError:  # an adapter's own, which says more
            raise
        except Exception as error:
            raise PredictorError(
                f"the model raised {type(error).__name__} on {len(genomes)} rows: {told_by(error)}"
                f"{hint_on(self.model, self.encoding, genomes, method.plain)}"
            ) from error


def as_scores(raw: Any, n: int) -> Floats:
    """Return the model's answer as float64 of shape (n, c), or say which shape is wrong."""
    try:
        answers = np.asarray(raw)
        is_object = answers.dtype.kind == "O"  # else text and complex numbers would be converted
        scores = answers.astype(np.float64, casting="unsafe" if is_object else "same_kind")
    except Exception as error:  # a tensor on another device raises what it likes
        raise not_numbers(error, raw) from error
    scores = scores[:, None] if scores.ndim == 1 else scores
    if scores.ndim != 2 or len(scores) != n or scores.shape[1] == 0:
        raise wrong_shape(np.shape(raw), n)
    return scores


def as_probabilities(outputs: Floats, classes: tuple[Any, ...]) -> Floats:
    """Return finite outputs as one probability per class, or refuse what is none."""
    if outputs.shape[1] == 1 and len(classes) == 2:  # the probability of the second class
        outputs = np.column_stack([1.0 - outputs, outputs])
    if outputs.shape[1] != len(classes):
        raise wrong_columns(outputs.shape[1], classes)
    low, high, sums = outputs.min(), outputs.max(), np.asarray(sum(outputs.T))
    is_outside = low < -TOLERANCE or high > 1.0 + TOLERANCE
    if is_outside or max(sums.max() - 1.0, 1.0 - sums.min()) > 100 * TOLERANCE:
        raise no_probabilities(outputs)
    if low < 0.0 or high > 1.0:  # round-off must not leave a target up to 1
        return np.clip(outputs, 0.0, 1.0)
    return outputs


def pad(blocks: Floats) -> Floats:
    """Return blocks (r, n, d) with n a multiple of BLOCK, the last of each repeated."""
    r, n, d = blocks.shape
    n_more = -n % BLOCK
    if n_more == 0:
        return blocks
    return np.concatenate([blocks, np.broadcast_to(blocks[:, -1:], (r, n_more, d))], axis=1)


@contextmanager
def one_thread(threads: ThreadpoolController) -> Iterator[None]:
    """Keep the libraries found by `threads` on one thread, while this thread asks the model.

    How threads split a matrix product changes its last bits, and on small calls starting them
    costs more than they save; rows are shared among `workers` instead. Linear algebra has one
    setting per process, OpenMP and joblib have one per thread.
    """
    joblib = sys.modules.get("joblib")  # a forest's trees would be added up as they finish
    alone = nullcontext() if joblib is None else joblib.parallel_config(backend="sequential")
    _KEEPER.enter(threads)
    try:
        with threads.limit(limits=1, user_api="openmp"), alone:
            yield
    finally:
        _KEEPER.leave()


class Keeper:
    """Keeps linear algebra on one thread from the first who needs it until the last.

    threadpoolctl lets only the thread that has set a limit lift it, and whoever comes first need
    not be the last to leave. So the limit is held by a thread of its own.
    """

    def __init__(self) -> None:
        self._lock, self._n_users = threading.Lock(), 0
        self._holder: threading.Thread | None = None
        self._done = threading.Event()

    def enter(self, threads: ThreadpoolController) -> None:
        """Return once the limit holds."""
        with self._lock:
            self._n_users += 1
            if self._n_users == 1:
                held, self._done = threading.Event(), threading.Event()
                arguments = (threads, held, self._done)
                self._holder = threading.Thread(target=_hold, args=arguments, daemon=True)
                self._holder.start()
                held.wait()

    def leave(self) -> None:
        """Lift the limit if nobody else needs it."""
        with self._lock:
            self._n_users -= 1
            if self._n_users == 0 and self._holder is not None:
                self._done.set()
                self._holder.join()
                self._holder = None


def _hold(threads: ThreadpoolController, held: threading.Event, done: threading.Event) -> None:
    """Hold the limit from `held` on until `done` is set."""
    with threads.limit(limits=1, user_api="blas"):
        held.set()
        done.wait()


_KEEPER = Keeper()  # one setting per process, so one keeper
