from __future__ import annotations

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, asdict, fields, replace
from typing import Any, get_args

import numpy as np
import pytest

from counterpoint.errors import InvalidInput, listed
from counterpoint.search.settings import NSGA2, Explore, Method, RandomSearch, Search, WhatIf
from counterpoint.streams import MAX_GENERATIONS, MAX_INDIVIDUALS

# Section 0 of the reference: the authors' stored configuration, three digits.
PUBLISHED = {
    "evaluations": None,
    "generations": 175,
    "population": 20,
    "patience": None,
    "seconds": None,
    "epsilon": 0.0,
    "p_min": 0.01,
    "p_max": 0.99,
    "step": "deviation",
    "p_recombine": 0.570,
    "p_recombine_gene": 0.849,
    "p_recombine_keep": 0.878,
    "p_mutate": 0.794,
    "p_mutate_gene": 0.557,
    "p_mutate_keep": 0.317,
}
VARIANTS: dict[Any, tuple[str, str, str]] = {
    "moc": ("nsga2", "random", "gaussian"),
    "mocice": ("nsga2", "ice", "gaussian"),
    "moccond": ("nsga2", "random", "conditional"),
    "mocmod": ("nsga2", "ice", "conditional"),
}
OTHER: dict[str, object] = {
    "epsilon": 0.1,
    "initialization": "observed",
    "p_min": 0.2,
    "p_max": 0.8,
    "mutation": "gaussian",
    "step": "deviation_times_range",
    "p_recombine": 0.5,
    "p_recombine_gene": 0.5,
    "p_recombine_keep": 0.5,
    "p_mutate": 0.5,
    "p_mutate_gene": 0.5,
    "p_mutate_keep": 0.5,
}
METHODS = listed(get_args(Method))
PROBABILITIES = [field.name for field in fields(NSGA2) if field.name.startswith("p_")]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_has_exactly_the_published_values(variant: Any) -> None:
    method, initialization, mutation = VARIANTS[variant]

    settings = asdict(Search.paper(variant))

    assert settings == PUBLISHED | {
        "method": method,
        "initialization": initialization,
        "mutation": mutation,
    }


def test_the_random_variant_has_the_published_budget() -> None:
    assert Search.paper("random") == Search(method="random", generations=175, patience=None)


def test_the_tuned_variant_is_meant_if_none_is_named() -> None:
    assert Search.paper() == Search.paper("mocmod")


def test_a_variant_that_does_not_exist_is_refused() -> None:
    with pytest.raises(
        InvalidInput,
        match=re.escape(
            "Search.paper(variant) must be one of 'mocmod', 'moc', 'mocice', 'moccond' and "
            "'random', got 'mocicee'; did you mean 'mocice'?"
        ),
    ):
        Search.paper("mocicee")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (
            "method",
            "nsga3",
            f"Search.method must be one of {METHODS}, got 'nsga3'; did you mean 'nsga2'?",
        ),
        (
            "initialization",
            "icecurve",
            "Search.initialization must be one of 'random', 'ice', 'deviation' and 'observed', "
            "got 'icecurve'.",
        ),
        (
            "mutation",
            "gausian",
            "Search.mutation must be 'conditional' or 'gaussian', got 'gausian'; "
            "did you mean 'gaussian'?",
        ),
        (
            "step",
            ["deviation"],
            "Search.step must be 'deviation' or 'deviation_times_range', got ['deviation']",
        ),
    ],
)
def test_a_choice_that_does_not_exist_is_refused(name: str, value: object, text: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(text)):
        Search(**{name: value})  # type: ignore[arg-type]


def test_a_setting_of_the_papers_search_chooses_it() -> None:
    assert Search().method == "explore"
    assert Search(evaluations=100, population=5, patience=None, seconds=2.0).method == "explore"
    for name, value in OTHER.items():
        assert Search(**{name: value}).method == "nsga2"  # type: ignore[arg-type]
        assert Search(**{name: getattr(NSGA2(), name)}) == NSGA2()


@pytest.mark.parametrize("method", ["explore", "random"])
@pytest.mark.parametrize("name", OTHER)
def test_a_setting_the_method_does_not_look_at_is_refused(method: Any, name: str) -> None:
    with pytest.raises(
        InvalidInput,
        match=re.escape(
            f"Search.{name} is a setting of method 'nsga2', which {method!r} does not look at; "
            "leave it out, or leave out method."
        ),
    ):
        Search(method=method, **{name: OTHER[name]})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["evaluations", "generations", "population", "patience"])
@pytest.mark.parametrize("value", [20.0, "20", True, float("nan")])
def test_a_count_must_be_a_whole_number(name: str, value: object) -> None:
    message = rf"Search\.{name} must be a whole number from \d to [\d,]+, got {value!r}\."
    with pytest.raises(InvalidInput, match=message):
        Search(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("evaluations", 1, 2**40),
        ("generations", 0, MAX_GENERATIONS),
        ("population", 2, MAX_INDIVIDUALS),
        ("patience", 1, MAX_GENERATIONS),
    ],
)
def test_a_count_has_a_range(name: str, least: int, most: int) -> None:
    for value in (least - 1, most + 1):
        with pytest.raises(
            InvalidInput,
            match=f"Search.{name} must be a whole number from {least} to {most:,}, got {value}.",
        ):
            Search(**{name: value})  # type: ignore[arg-type]


def test_the_population_cannot_be_left_out() -> None:
    with pytest.raises(
        InvalidInput, match=r"Search.population must be a whole number .*, got None."
    ):
        Search(population=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PROBABILITIES)
@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), "0.5", None, True])
def test_a_probability_must_be_one(name: str, value: object) -> None:
    with pytest.raises(
        InvalidInput,
        match=re.escape(f"Search.{name} must lie between 0 and 1, got {value!r}."),
    ):
        Search(**{name: value})  # type: ignore[arg-type]


def test_an_indicator_cannot_be_redrawn_more_often_than_always() -> None:
    with pytest.raises(
        InvalidInput, match=r"Search.p_mutate_keep must lie between 0 and 0.5, got 0.51."
    ):
        Search(p_mutate_keep=0.51)


def test_the_least_probability_may_not_exceed_the_greatest() -> None:
    with pytest.raises(InvalidInput, match=r"Search.p_min must not exceed p_max, got 0.6 and 0.4."):
        Search(p_min=0.6, p_max=0.4)


@pytest.mark.parametrize("name", ["epsilon", "seconds"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), "soon"])
def test_a_limit_may_not_be_negative(name: str, value: object) -> None:
    with pytest.raises(
        InvalidInput,
        match=re.escape(f"Search.{name} must be a number of at least 0, got {value!r}."),
    ):
        Search(**{name: value})  # type: ignore[arg-type]


def test_a_budget_must_pay_for_the_row_and_its_first_population() -> None:
    with pytest.raises(
        InvalidInput,
        match=re.escape(
            "Search.evaluations must exceed the first generation of 30 (the row itself is asked "
            "too), got 30; raise it or lower population."
        ),
    ):
        Search(method="nsga2", evaluations=30, population=30)

    assert Search(evaluations=31, population=30).evaluations == 31


def test_numbers_of_numpy_are_numbers() -> None:
    settings = Search(population=np.int64(8), p_mutate=np.float32(0.5), epsilon=np.float64(0.1))  # type: ignore[arg-type]

    assert settings == Search(population=8, p_mutate=0.5, epsilon=0.1)


def test_settings_cannot_be_written_to() -> None:
    settings = Search()

    with pytest.raises(FrozenInstanceError):
        settings.population = 3  # type: ignore[misc]


def test_with_replaces_some_settings_and_leaves_the_first_as_it_was() -> None:
    first = Search.paper("moc")

    second = first.with_(population=50, patience=3)

    assert isinstance(second, NSGA2)
    assert (second.population, second.patience, second.mutation) == (50, 3, "gaussian")
    assert first == Search.paper("moc")


def test_with_checks_again() -> None:
    with pytest.raises(
        InvalidInput, match=r"Search.population must be a whole number from 2 to .*, got 1."
    ):
        Search().with_(population=1)


def test_with_names_the_setting_that_was_meant() -> None:
    with pytest.raises(
        InvalidInput,
        match=re.escape("Search has no setting 'p_mutate_genes'; did you mean 'p_mutate_gene'?"),
    ):
        Search().with_(p_mutate_genes=0.5)  # type: ignore[call-arg]


def test_with_lists_all_settings_if_none_is_close() -> None:
    known = ", ".join(repr(field.name) for field in [*fields(Explore), *fields(NSGA2)[6:-1]])

    with pytest.raises(InvalidInput, match=f"no setting 'mu'; the settings are {known} and"):
        Search().with_(mu=20)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("settings", "asked", "last"),
    [
        (Search(method="nsga2"), 21, 175),
        (Search(method="nsga2", generations=3), 21, 3),
        (Search(method="nsga2", generations=0), 21, 0),
        (Search(method="nsga2", evaluations=3521), 21, 175),
        (Search(method="nsga2", evaluations=3520), 21, 174),
        (Search(method="nsga2", evaluations=21), 21, 0),
        (Search(method="nsga2", evaluations=100_000, generations=5), 21, 5),
        (Search(method="nsga2", evaluations=61, generations=5), 21, 2),
    ],
)
def test_generations_end_with_the_first_of_the_two_budgets(
    settings: Search, asked: int, last: int
) -> None:
    assert settings.last_generation(np.array([asked])).tolist() == [last]


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        (NSGA2(), None),
        (NSGA2(evaluations=3520), 1760),
        (NSGA2(evaluations=21), 0),
        (NSGA2(evaluations=30), 9),
        (NSGA2(evaluations=50), 25),
    ],
)
def test_curves_leave_room_for_the_row_and_its_first_population(
    settings: NSGA2, most: int | None
) -> None:
    assert settings.most_ice_points == most


def test_a_search_is_of_the_class_of_its_method() -> None:
    made = [Search(), Search(method="nsga2"), Search(method="random"), Search(method=None)]

    assert [type(search) for search in made] == [Explore, NSGA2, RandomSearch, Explore]
    assert all(isinstance(search, Search) for search in made)
    assert not isinstance(WhatIf(), Search)
    assert Search(epsilon=None, seconds=2.0) == NSGA2(epsilon=None, seconds=2.0)


def test_a_class_has_only_the_settings_of_its_method() -> None:
    common = ["method", "evaluations", "generations", "population", "patience", "seconds"]

    assert [field.name for field in fields(Explore)] == [*common, "prove"]
    assert [field.name for field in fields(RandomSearch)] == common
    assert [field.name for field in fields(NSGA2)] == common + list(OTHER)


@pytest.mark.parametrize(("made", "method"), [(Explore, "explore"), (RandomSearch, "random")])
def test_a_class_refuses_what_another_method_has(made: Any, method: str) -> None:
    text = f"Search.p_min is a setting of method 'nsga2', which '{method}' does not look at"
    with pytest.raises(InvalidInput, match=text):
        made(p_min=0.2)
    with pytest.raises(InvalidInput, match=f"Search.method must be '{method}', got 'nsga2'"):
        made(method="nsga2")
    with pytest.raises(InvalidInput, match="no setting 'evaluation'; did you mean 'evaluations'"):
        made(evaluation=300)


def test_with_gives_what_search_gives_if_all_is_given_at_once() -> None:
    first = Search(evaluations=900)

    assert first.with_(epsilon=0.1) == Search(evaluations=900, epsilon=0.1)
    assert first.with_(method="random") == Search(evaluations=900, method="random")
    assert Search.paper("random").with_(seconds=3.0).method == "random"
    with pytest.raises(InvalidInput, match=r"Search.initialization is a setting of method 'nsga2'"):
        Search.paper("moc").with_(method="explore")


@pytest.mark.parametrize(
    "search", [Explore(seconds=1.5), NSGA2(epsilon=None), RandomSearch(), WhatIf(n=3)]
)
def test_settings_survive_copies_pickles_and_print(search: Any) -> None:
    assert pickle.loads(pickle.dumps(search)) == search  # noqa: S301
    assert copy.deepcopy(search) == search
    assert eval(repr(search)) == search  # noqa: S307
    assert hash(replace(search)) == hash(search)


def test_prove_is_true_or_false() -> None:
    with pytest.raises(InvalidInput, match=r"Search\.prove must be .* got 'yes'"):
        Search(prove="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("effort", ["quick", "normal", "thorough"])
def test_an_effort_is_a_number_of_evaluations(effort: Any) -> None:
    searches = [Search(effort=effort), NSGA2(effort=effort), RandomSearch(effort=effort)]
    expected = {"quick": 880, "normal": None, "thorough": 14_080}[effort]

    assert {search.evaluations for search in searches} == {expected}
    assert Search(effort=effort) == Search(evaluations=expected)
    assert Search(effort=effort).with_(seconds=2.0).evaluations == expected


@pytest.mark.parametrize("budget", ["evaluations", "generations"])
def test_an_effort_beside_a_budget_or_one_that_is_none_is_refused(budget: Any) -> None:
    settings: Any = {budget: 900}
    with pytest.raises(InvalidInput, match="stands for evaluations or generations; give one"):
        Search(effort="quick", **settings)
    effort: Any = "slow"
    with pytest.raises(InvalidInput, match="effort must be one of 'quick', 'normal' and"):
        Search(effort=effort)
