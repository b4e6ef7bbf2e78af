"""Choosing by criteria, weights, safety and conditions; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.unit.result.words.small import sentence

import counterpoint as cp
from counterpoint.arrays import MISSING
from counterpoint.neighbours.index import gower_to_all
from counterpoint.result.choosing import orders
from counterpoint.result.choosing.interview import WAYS_FIRST
from counterpoint.result.choosing.orders import MARGIN_ONLY, neighbours_of
from counterpoint.streams import row_keys

rng = np.random.default_rng(0)  # noqa: TID251 - made-up data
DATA = pd.DataFrame(
    {
        "age": rng.integers(18, 80, 200),
        "pay": rng.normal(50, 10, 200).round(1),
        "rooms": rng.integers(1, 5, 200),
        "job": rng.choice(["clerk", "nurse", "smith"], 200),
    }
)
OUTCOME = np.where(DATA["pay"] + DATA["age"] / 4 > 62, "good", "bad")
NUMBERS = ["age", "pay", "rooms"]


class Model:
    """A logistic regression on the numbers."""

    def __init__(self, data: pd.DataFrame, outcome: Any) -> None:
        self.inner = LogisticRegression(max_iter=2000).fit(data[NUMBERS], outcome)
        self.classes_ = self.inner.classes_

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        """Return probabilities."""
        return self.inner.predict_proba(rows[NUMBERS])


MODEL = Model(DATA, OUTCOME)
REFUSED = DATA[OUTCOME == "bad"][:1]


@pytest.fixture(scope="module")
def found() -> cp.Counterfactuals:
    explainer = cp.Explainer(MODEL, DATA)
    return explainer.explain(REFUSED, ("good", (0.6, 1.0)), fixed=["rooms"])


def test_by_default_the_choice_is_by_ways(found: cp.Counterfactuals) -> None:
    np.testing.assert_array_equal(found.select(4).genomes, found.select(4, by="ways").genomes)


@pytest.mark.parametrize(
    ("by", "m"), [("closest", 1), ("fewest", 2), ("plausible", 3), ("safest", 0)]
)
def test_the_first_is_the_best_in_that_respect(found: cp.Counterfactuals, by: Any, m: int) -> None:
    first = found.select(1, by=by)

    assert first.objectives[0, m] == found.valid().objectives[:, m].min()


def test_the_knee_is_nearest_to_the_ideal_of_the_valid_ones(found: cp.Counterfactuals) -> None:
    valid = found.valid()
    low, high = valid.objectives.min(axis=0), valid.objectives.max(axis=0)
    shares = (valid.objectives - low)[:, 1:] / (high - low)[1:]

    knee = found.select(1, by="knee")

    best = int(np.argmin((shares**2).sum(axis=1)))
    np.testing.assert_array_equal(knee.genomes[0], valid.genomes[best])
    assert found.representatives()["balanced"] == int(orders.ordered(found, "knee")[0])


def test_diverse_ones_are_far_apart(found: cp.Counterfactuals) -> None:
    def least(some: cp.Counterfactuals) -> float:
        weight = np.ones(4)
        apart = [gower_to_all(g, some.genomes, weight, np.full(4, np.inf)) for g in some.genomes]
        return float(np.min(np.array(apart) + np.diag(np.full(len(some), np.inf))))

    assert least(found.select(5, by="diverse")) > least(found.select(5, by="closest"))


def test_weights_of_own_objectives_count() -> None:
    def price(rows: pd.DataFrame, row: pd.DataFrame) -> Any:
        return (rows["pay"] - row["pay"].iloc[0]).abs()

    explainer = cp.Explainer(MODEL, DATA, objectives=[cp.Objective("price", price, worst=50)])
    found = explainer.explain(REFUSED, ("good", (0.6, 1.0)), cp.Search(evaluations=500))

    cheapest = found.select(1, weights={"price": 1})

    assert cheapest.objectives[0, 4] == found.valid().objectives[:, 4].min()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "knees"}, "select: by must be one of 'ways', 'hypervolume', 'diverse', 'knee', "
            "'closest', 'fewest', 'plausible' and 'safest', got 'knees'; did you mean 'knee'?"),
        ({"by": "knee", "weights": {"gap": 1}}, "select takes by or weights, got by='knee' and "
            "weights={'gap': 1}; leave one out."),
        ({"weights": {"distanc": 1}}, "weights names 'distanc', which is no objective; did you "
            "mean 'distance'?"),
        ({"weights": {"x": 1}}, "weights names 'x', which is no objective; the objectives are "
            "'gap', 'distance', 'changes' and 'implausibility'."),
        ({"weights": {"gap": -1}}, "weights['gap'] must be a finite number of at least 0, got -1."),
        ({"weights": {"gap": True}}, "weights['gap'] must be a finite number of at least 0, got "
            "True."),
        ({"weights": {"gap": 0}}, "weights must not all be 0."),
        ({"weights": {}}, "weights must be a dict of objective to number, got {}; for example "
            "weights={'distance': 2, 'changes': 1}."),
        ({"n": 0, "by": "knee"}, "select: n must be a whole number of at least 1, got 0."),
    ],
)  # fmt: skip
def test_a_choice_that_means_nothing_is_refused(
    found: cp.Counterfactuals, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(cp.InvalidInput) as raised:
        found.select(**arguments)

    assert str(raised.value) == message


def test_of_nothing_nothing_is_chosen(found: cp.Counterfactuals) -> None:
    none = found.take([])

    assert none.representatives() == {}
    assert len(none.safety()) == 0
    for by in ("hypervolume", "diverse", "knee", "closest", "safest"):
        assert len(none.select(3, by=by)) == 0
    assert len(none.select(3, weights={"gap": 1})) == 0


# Margins


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (cp.Target(0.5, 1.0, 1, "good"), [0.2, 0.5, -0.1]),  # nothing is above 1
        (cp.Target(0.5, 0.75, 1, "good"), [0.05, -0.25, -0.1]),
        (cp.Target(0.5, np.inf), [0.2, 0.5, -0.1]),
        (cp.Target(-np.inf, 1.0), [0.3, 0.0, 0.6]),
    ],
)
def test_the_margin_is_the_way_to_the_nearer_boundary(
    found: cp.Counterfactuals, target: cp.Target, expected: list[float]
) -> None:
    from dataclasses import replace

    predictions = np.array([0.7, 1.0, 0.4])
    gaps = np.array([target.gap_of(each) for each in predictions.tolist()])
    outputs = np.array([3.0, 3.0]) if target.label is None else found.facts.row_outputs
    facts = replace(found.facts, target=target, row_outputs=outputs)
    objectives = np.column_stack([gaps, np.ones((3, 3))])
    some = replace(found.take([0, 0, 0]), scores=predictions, objectives=objectives, facts=facts)

    np.testing.assert_allclose(orders.margins(some), expected)


# Safety


def test_safety_has_a_row_for_each_and_does_not_mind_company(found: cp.Counterfactuals) -> None:
    frame = found.safety()

    assert list(frame.columns) == ["counterfactual", "margin", "neighbours"]
    assert frame["counterfactual"].tolist() == list(range(1, len(found.genomes) + 1))
    assert frame["neighbours"].between(0, 1).all()
    alone = found.take([3]).safety()
    assert alone["neighbours"].iloc[0] == frame["neighbours"].iloc[3]


def test_deep_inside_the_target_neighbours_hold(found: cp.Counterfactuals) -> None:
    valid = found.valid().safety(neighbours=64)

    deep = valid.nlargest(5, "margin")["neighbours"].mean()
    shallow = valid.nsmallest(5, "margin")["neighbours"].mean()

    assert deep > shallow


def test_the_seed_and_the_number_of_neighbours_matter(found: cp.Counterfactuals) -> None:
    shares = found.safety(neighbours=20)["neighbours"]

    assert shares.equals(found.safety(neighbours=20)["neighbours"])
    assert not shares.equals(found.safety(neighbours=20, seed=1)["neighbours"])
    assert (shares * 20).round(9).mod(1).eq(0).all()
    assert "neighbours" not in found.safety(neighbours=0)


def test_neighbours_are_near_on_the_grid_and_keep_what_is_fixed(found: cp.Counterfactuals) -> None:
    genomes = found.genomes[:3]

    near = neighbours_of(found, genomes, row_keys(0, genomes), 400)

    step = np.abs(near - genomes[:, None])
    span = DATA[NUMBERS].max() - DATA[NUMBERS].min()
    assert near.shape == (3, 400, 4)
    assert (step[..., 0] <= 0.05 * span["age"] + 0.5).all()
    assert (step[..., 1] <= 0.05 * span["pay"] + 0.051).all()
    assert step[..., 1].max() > 0.0
    np.testing.assert_allclose(near[..., 1], near[..., 1].round(1))
    assert (step[..., 2] == 0.0).all()  # fixed
    assert 0.0 < (step[..., 3] > 0).mean() < 0.1
    assert set(np.unique(near[..., 3])) <= {0.0, 1.0, 2.0}


def test_refitted_models_are_asked(found: cp.Counterfactuals) -> None:
    frame = found.safety(models=[MODEL, MODEL], neighbours=0)

    np.testing.assert_array_equal(frame["models"], found.reaches.astype(float))
    flipped = Model(DATA, np.where(OUTCOME == "good", "bad", "good"))
    half = found.safety(models=[MODEL, flipped], neighbours=0)["models"]
    assert half[found.reaches].mean() < 1.0


def test_models_of_a_regression_are_asked() -> None:
    fit = LinearRegression().fit(DATA[NUMBERS], DATA["age"] + DATA["pay"])
    explainer = cp.Explainer(lambda rows: fit.predict(rows[NUMBERS]), DATA)
    found = explainer.explain(REFUSED, (120, None), cp.Search(evaluations=300))

    frame = found.safety(models=[lambda rows: rows["age"] + rows["pay"]], neighbours=4)

    assert list(frame.columns) == ["counterfactual", "margin", "neighbours", "models"]


def test_a_loaded_result_has_margins_only_and_says_so(
    found: cp.Counterfactuals, tmp_path: Path
) -> None:
    found.save(tmp_path / "found.json")
    loaded = cp.load(tmp_path / "found.json")

    frame = loaded.safety()

    assert list(frame.columns) == ["counterfactual", "margin"]
    assert frame.attrs["note"] == MARGIN_ONLY
    assert frame["margin"].equals(found.safety(neighbours=0)["margin"])
    assert loaded.representatives()["safest"] == int(np.argmax(frame["margin"]))
    with pytest.raises(cp.InvalidInput) as raised:
        loaded.safety(neighbours=8)
    assert str(raised.value) == (
        "safety cannot ask neighbours: this result was loaded from a file, without its model; pass "
        "neighbours=0, or make an Explainer and call explain again with the same seed."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"models": []}, "safety: models must be a list of at least one model, got []; for example "
            "[clone(model).fit(...) for each bootstrap sample]."),
        ({"neighbours": -1}, "safety.neighbours must be a whole number from 0 to 10,000, got -1."),
        ({"seed": -1}, "seed must be a whole number from 0 to 2**64 - 1, got -1; for example "
            "seed=0."),
    ],
)  # fmt: skip
def test_safety_refuses_what_it_cannot_ask(
    found: cp.Counterfactuals, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(cp.InvalidInput) as raised:
        found.safety(**arguments)

    assert str(raised.value) == message


def test_a_model_without_the_class_is_refused(found: cp.Counterfactuals) -> None:
    other = Model(DATA, np.where(OUTCOME == "good", "yes", "no"))

    with pytest.raises(cp.InvalidInput, match=r"^safety: one of the models has no class 'good'; "):
        found.safety(models=[other], neighbours=0)


# Filters


def test_a_filter_takes_rules_and_features_to_keep(found: cp.Counterfactuals) -> None:
    middle = found.to_frame(near_misses=True)["pay"].median()

    some = found.filter(f"pay >= {middle}", keep=["age"])

    frame = some.to_frame(near_misses=True)
    assert (
        0 < len(some.genomes) < len(found.filter(f"pay >= {middle}").genomes) < len(found.genomes)
    )
    assert (frame["pay"] >= middle).all()
    assert (frame["age"] == REFUSED["age"].iloc[0]).all()
    assert len(found.filter().genomes) == len(found.genomes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((7,), "filter takes a rule or a list of rules as text, got 7; for example "
            "found.filter('duration >= 24')."),
        (([len],), "filter takes a rule or a list of rules as text, got [<built-in function len>]; "
            "for example found.filter('duration >= 24')."),
    ],
)  # fmt: skip
def test_a_filter_that_is_no_rule_is_refused(
    found: cp.Counterfactuals, arguments: Any, message: str
) -> None:
    with pytest.raises(cp.InvalidInput) as raised:
        found.filter(*arguments)

    assert str(raised.value) == message


def test_what_to_keep_must_be_features(found: cp.Counterfactuals) -> None:
    with pytest.raises(cp.UnknownFeatureError, match=r"^filter: keep names 'jobb', .* mean 'job'"):
        found.filter(keep=["jobb"])
    with pytest.raises(cp.InvalidInput) as raised:
        found.filter(keep="job")
    assert str(raised.value) == (
        "filter: keep must be a list of features, got 'job'; for example keep=['job']."
    )


def test_code_in_a_filter_is_not_run(found: cp.Counterfactuals) -> None:
    with pytest.raises(cp.InvalidInput):
        found.filter("__import__('os').getcwd() = 1")


# Missing values


def test_choosing_knows_what_is_missing() -> None:
    """The row lacks its pay; counterfactuals may lack the job."""
    some = DATA.astype({"pay": float, "job": object})
    some.loc[some.index[::5], "pay"] = np.nan
    some.loc[some.index[1::7], "job"] = None
    row = some[:1].assign(pay=np.nan, age=30)

    def judge(rows: pd.DataFrame) -> Any:
        z = rows["pay"].fillna(40.0) / 50 + rows["age"] / 90 + 1.0 * rows["job"].isna()
        return np.clip(z / 2, 0.0, 1.0)

    explainer = cp.Explainer(judge, some, allow_missing=["job"], units={"pay": "€"})
    found = explainer.explain(row, (0.95, 1.0), cp.Search(evaluations=800))
    assert (found.genomes[:, [1, 3]] == MISSING).any(axis=0).all()

    diverse, frame, interview = found.select(9, by="diverse"), found.safety(), found.prefer()
    texts = [sentence(found, i, lang) for i in range(len(found.genomes)) for lang in ("en", "de")]

    assert len({genome.tobytes() for genome in diverse.genomes}) == 9
    assert frame["neighbours"].between(0, 1).all()
    values = interview.attributes.shares
    assert (np.isfinite(values) & (values <= 1.0)).all()
    assert any(" € instead of missing" in text for text in texts)
    assert any(" € statt unbekannt" in text for text in texts)
    assert any("missing instead of “" in text for text in texts)
    kept = found.filter("pay >= 3")
    assert len(kept.genomes)
    assert (kept.genomes[:, 1] >= 3).all()
    assert (found.filter("job = nurse or job != nurse").genomes[:, 3] != MISSING).all()


# The interview


def test_an_interview_asks_in_words_and_recommends(found: cp.Counterfactuals) -> None:
    interview = found.prefer()
    question = interview.question
    assert question is not None

    interview.answer("A").answer("B").answer("equal")

    assert str(question).splitlines()[0] == "Which suits you better?"
    assert question.texts[0] in str(question)
    assert [answer for _, answer in interview.answers] == ["A", "B", "equal"]
    assert interview.answers[0][0] == question
    assert interview.best.reaches.all()
    assert repr(interview) == f"<Interview: 3 answers, best is position {interview.position}>"
    total = sum(sum(part.values()) for part in interview.weights.values())
    assert total == pytest.approx(1.0)
    assert set(interview.weights["objectives"]) <= set(found.objective_names)


def test_the_first_questions_compare_different_ways() -> None:
    explainer = cp.Explainer(
        lambda rows: np.maximum.reduce([rows["age"] / 80, rows["pay"] / 80, rows["rooms"] / 5]),
        DATA,
    )
    row = {"age": 20, "pay": 40.0, "rooms": 1, "job": "clerk"}
    found = explainer.explain(row, (0.8, None), cp.Search(evaluations=500))
    interview = found.prefer()
    shown = {way.representative.genomes.tobytes() for way in found.ways()}
    assert len(shown) == 3

    for _ in range(WAYS_FIRST):
        assert interview.question is not None
        a, b = interview.found.genomes[list(interview.question.positions)]
        assert {a.tobytes(), b.tobytes()} <= shown
        interview.answer("A")

    n = len(found.genomes)
    np.testing.assert_array_equal(interview.found.genomes[:n], found.genomes)
    beside = {genome.tobytes() for genome in interview.found.genomes[n:]}
    assert beside == shown - {genome.tobytes() for genome in found.genomes}


def test_answers_move_the_recommendation(found: cp.Counterfactuals) -> None:
    def asked(prefers: int) -> Any:
        interview = found.prefer()
        while interview.question is not None:
            a, b = interview.found.objectives[list(interview.question.positions), prefers]
            interview.answer("A" if a < b else "B" if b < a else "equal")
        return interview.best.objectives[0]

    fewest, typical = asked(2), asked(3)

    assert fewest[2] == found.valid().objectives[:, 2].min()
    assert typical[3] < fewest[3]


def test_the_questions_come_in_german(found: cp.Counterfactuals) -> None:
    assert str(found.prefer(lang="de")).startswith("Was passt besser?\nA: Wenn ")


def test_customers_are_not_asked_about_protected_features() -> None:
    explainer = cp.Explainer(MODEL, DATA, protected=["age"])
    found = explainer.explain(REFUSED, ("good", (0.6, 1.0)), cp.Search(evaluations=500))

    everybody, customer = found.prefer(reader="analyst"), found.prefer()

    changed = customer.found.changed[customer.attributes.candidates]
    assert not changed[:, 0].any()
    assert len(everybody.attributes.candidates) > len(customer.attributes.candidates)


def test_an_interview_ends_when_there_is_nothing_left(found: cp.Counterfactuals) -> None:
    two = found.valid().take([0, 1]).prefer()
    asked = two.question
    assert asked is not None

    two.answer("B")

    assert two.question is None
    assert two.position == asked.positions[1]
    assert str(two).startswith(f"{two.position + 1}. If ")
    with pytest.raises(cp.InvalidInput, match=r"^there is no question left to answer; best is "):
        two.answer("A")


def test_neither_leaves_out_a_feature_for_good_and_can_be_undone(
    found: cp.Counterfactuals,
) -> None:
    interview = found.prefer(reader="analyst")
    names = found.encoding.schema.names
    changed = interview.found.changed[interview.attributes.candidates]
    j = int(np.argmax(changed.any(axis=0) & ~changed.all(axis=0)))
    before = interview.position

    interview.answer("neither", because=names[j])

    assert f"Nothing that changes {names[j]} is shown." in interview.learnt
    while interview.question is not None:
        assert not interview.found.changed[list(interview.question.positions), j].any()
        interview.answer("A")
    assert len(interview.answers) <= 8
    assert not interview.found.changed[interview.position, j]
    while interview.answers:
        interview.undo()
    assert interview.position == before
    with pytest.raises(cp.InvalidInput, match=r"^answer 'neither' with because=None: say answer"):
        interview.answer("neither")
    only = found.valid().take([0, 1]).prefer(reader="analyst")
    shared = int(np.argmax(only.found.changed[only.attributes.candidates].all(axis=0)))
    with pytest.raises(cp.InvalidInput, match=r"^every counterfactual there is to choose from"):
        only.answer("neither", because=names[shared])


def test_an_interview_refuses_what_is_no_answer(found: cp.Counterfactuals) -> None:
    interview = found.prefer()

    with pytest.raises(cp.InvalidInput) as raised:
        interview.answer("C")  # type: ignore[arg-type]
    assert str(raised.value) == "answer must be one of 'A', 'B', 'equal' and 'neither', got 'C'."
    with pytest.raises(cp.InvalidInput, match=r"^there is no answer to undo\.$"):
        interview.undo()
    with pytest.raises(cp.InvalidInput, match=r"^lang must be 'en' or 'de', got 'fr'\.$"):
        found.prefer(lang="fr")  # type: ignore[arg-type]


def test_without_counterfactuals_there_is_no_interview(found: cp.Counterfactuals) -> None:
    with pytest.raises(cp.InvalidInput) as raised:
        found.take([]).prefer()

    assert str(raised.value) == (
        "prefer has no counterfactual to choose from: none was found; see message."
    )


def test_the_seed_makes_the_particles(found: cp.Counterfactuals) -> None:
    weights = [found.prefer(seed=seed).weights for seed in (0, 0, 1)]

    assert weights[0] == weights[1] != weights[2]
