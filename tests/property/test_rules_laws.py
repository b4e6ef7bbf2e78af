"""Laws of the rules: texts and trees, two ways to evaluate, bounds, contradictions and repair.

The table of the laws is so small that every genome can be tried: what rules allow is known.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.unit.rules import oracle
from tests.unit.rules.small import repair_all

from counterpoint.arrays import MISSING, Bools, Floats, Keys
from counterpoint.errors import CounterpointError, InvalidInput
from counterpoint.problem.limits import Limits
from counterpoint.rules.domains import Lattice, RowDomains
from counterpoint.rules.grammar import parse
from counterpoint.rules.normal_form import ROUND_OFF
from counterpoint.rules.rules import Rules
from counterpoint.rules.tree import (
    And,
    AtMost,
    Chain,
    Changed,
    Compare,
    Fixed,
    Implies,
    InRange,
    InSet,
    InSteps,
    Moves,
    Negative,
    Not,
    Number,
    Or,
    Role,
    RuleNode,
    Together,
    Was,
    Word,
)
from counterpoint.table.schema import Encoding, Schema
from counterpoint.table.space import Box, describe_space, search_box

COMPILED = settings(deadline=None)  # the first call compiles

# The language, whatever the table


def words(*roles: Role) -> st.SearchStrategy[Word]:
    texts = st.sampled_from(["age", "at", "my job", 'a"b', "x`y", "it's", "", "Größe", "1st"])
    return st.builds(
        lambda text, role: Word(text, role=role), texts | st.text(), st.sampled_from(roles)
    )


features = words(Role.FEATURE)
finite = st.floats(-1e100, 1e100)  # what rules may name
positive = st.floats(1e-200, 1e100)
atoms = st.one_of(
    st.builds(Number, st.floats(0.0, 1e100)),
    words(*Role),
    st.builds(Was, features),
)


def is_flat(chain: Chain) -> bool:
    """Whether a chain could not be written without parentheses around its first value."""
    return not (isinstance(chain.first, Chain) and chain.first.is_sum == chain.is_sum)


def chains(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def of(operators: str) -> st.SearchStrategy[Chain]:
        rest = st.lists(st.tuples(st.sampled_from(operators), values), min_size=1, max_size=3)
        return st.builds(Chain, values, rest.map(tuple)).filter(is_flat)

    return of("+-") | of("*/") | st.builds(Negative, values)


values = st.recursive(atoms, chains, max_leaves=6)
comparators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
ranges = st.tuples(finite, finite).map(sorted).map(tuple) | st.sampled_from(
    [(None, 1.0), (-2.5, None)]
)
members = st.lists(st.builds(Number, finite) | words(Role.LEVEL), min_size=1, max_size=3).map(tuple)
tests = st.one_of(
    st.builds(Compare, values, comparators, values),
    st.builds(Changed, features),
    st.builds(lambda feature, ends: InRange(feature, *ends), features, ranges),
    st.builds(InSet, features, members, st.booleans()),
    st.builds(InSteps, features, positive, st.none() | finite),
    st.builds(Moves, features, st.sampled_from(["increases", "decreases"]), st.none() | positive),
    st.builds(Moves, features, st.just("changes"), positive),
)


def joined(conditions: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def of(kind: type[And | Or]) -> st.SearchStrategy[Any]:
        others = conditions.filter(lambda part: not isinstance(part, kind))
        return st.builds(kind, st.lists(others, min_size=2, max_size=3).map(tuple))

    return st.one_of(
        of(And),
        of(Or),
        st.builds(Not, conditions),
        st.builds(Implies, conditions, conditions),
    )


lists = st.lists(features, min_size=1, max_size=3).map(tuple)
statements = st.one_of(
    st.recursive(tests, joined, max_leaves=5),
    st.builds(Fixed, lists),
    st.builds(AtMost, st.integers(1, 20), st.just(()) | lists),
    st.builds(Together, st.lists(features, min_size=2, max_size=3).map(tuple)),
)


@given(statements)
def test_what_is_written_is_read_as_the_same_tree(statement: RuleNode) -> None:
    text = str(statement)

    read = parse(text)

    assert read == statement
    assert str(read) == text


@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(
            [
                "age",
                "in",
                "not",
                "(",
                ")",
                "{",
                "}",
                "..",
                "5",
                "-",
                "<",
                "=",
                ",",
                "implies",
                "'",
                "was",
            ]
        ),
        max_size=12,
    ).map(" ".join)
)
def test_any_text_is_a_rule_or_a_clean_error(text: str) -> None:
    try:
        statement = parse(text)
    except InvalidInput:
        return

    assert parse(str(statement)) == statement


@given(st.tuples(*[st.integers(-30, 30), st.integers(1, 12)] * 2), st.integers(1, 10))
def test_lattices_meet_in_their_common_points(parts: tuple[int, ...], unit: int) -> None:
    a, s, b, t = (Fraction(part, unit) for part in parts)
    common = {a + n * s for n in range(-90, 91)} & {b + n * t for n in range(-90, 91)}

    met = Lattice(a, s).meet(Lattice(b, t))

    near = {point for point in common if abs(point) <= Fraction(20, unit)}
    if met is None:
        assert not near
    else:
        first = (Fraction(-20, unit) - met.origin) // met.step
        points = {met.origin + n * met.step for n in range(int(first) - 1, int(first) + 45)}
        assert near == {point for point in points if abs(point) <= Fraction(20, unit)}


# A table of 5 * 4 * 3 * 3 * 2 = 360 genomes, more for a row that is not like the data

DATA = pd.DataFrame(
    {
        "n": [0, 1, 2, 3, 4],
        "x": np.array([0.1, 0.2, 0.3, 0.4, 0.4]),
        "job": ["a", "b", "c", "a", "a"],
        "size": pd.Categorical(["s", "m", "l", "l", "l"], ["s", "m", "l"], ordered=True),
        "own": [True, False, True, True, True],
    }
)
STRANGE = DATA[:1].assign(n=6, x=0.25)  # outside of the data, and not on its grid
ROWS = pd.concat([DATA, STRANGE])
SCHEMAS = {
    "float64": Schema.infer(DATA),
    "float32": Schema.infer(DATA.astype({"x": np.float32})),
    "reals": Schema.infer(DATA, precision="full"),
}


def row_of(i: int, schema: Schema) -> Floats:
    frame = ROWS[i : i + 1].astype({"x": schema.features[1].dtype})
    row: Floats = Encoding(schema).encode(frame)[0]
    row.setflags(write=False)
    return row


def genomes_of(row: Floats, schema: Schema) -> Floats:
    """Return every genome on the data's grid within the row's box, and the row's own values."""
    x = np.union1d([0.1, 0.2, 0.3, 0.4], row[1]).astype(schema.features[1].dtype)
    n = range(int(max(4, row[0])) + 1)
    product = itertools.product(n, np.unique(x), range(3), range(3), range(2))
    return np.array(list(product), dtype=np.float64)


numbers = st.sampled_from(["n", "x", "was(n)", "was(x)", "0", "1", "2", "3", "0.1", "0.3", "10"])
operators = st.sampled_from("+-*/")
sums = st.recursive(
    numbers,
    lambda parts: (
        st.builds(lambda a, o, b: f"({a} {o} {b})", parts, operators, parts)
        | parts.map("-{}".format)
    ),
    max_leaves=3,
)
simple_rules = st.one_of(
    st.builds(lambda a, c, b: f"{a} {c} {b}", sums, comparators, sums),
    st.builds(lambda c, v: f"job {c} {v}", st.sampled_from(["=", "!="]), st.sampled_from("abc")),
    st.builds(lambda c, v: f"size {c} {v}", comparators, st.sampled_from(["s", "m", "was(size)"])),
    st.sampled_from(["own = true", "job != was(job)", "changed(n)", "changed(x)", "changed(own)"]),
    st.sampled_from(["n in 1..3", "x in 0.2..", "n in ..1", "x in {0.1, 0.4}", "n in {0, 3, 4}"]),
    st.sampled_from(["job in {a, c}", "size not in {m}", "n in steps of 2", "x in steps of 0.2"]),
    st.sampled_from(["n in steps of 3 from 1", "x in steps of 0.15 from 0.1", "n in steps of 1.5"]),
    st.sampled_from(["n increases", "size decreases", "x increases by at most 0.1"]),
    st.sampled_from(["size changes by at most 1", "n decreases by at most 2"]),
)
conditions = st.recursive(
    simple_rules,
    lambda parts: (
        st.builds(
            lambda a, o, b: f"({a} {o} {b})",
            parts,
            st.sampled_from(["and", "or", "implies"]),
            parts,
        )
        | parts.map("not ({})".format)
    ),
    max_leaves=4,
)
rule_texts = conditions | st.sampled_from(
    [
        "fixed n",
        "fixed job, x",
        "at most 1 change",
        "at most 2 changes",
        "at most 1 change among n, job, own",
        "n, x change together",
        "job, own, size change together",
    ]
)
rule_sets = st.lists(rule_texts, min_size=1, max_size=4, unique_by=lambda text: str(parse(text)))
schemas = st.sampled_from(list(SCHEMAS.values()))
some_rows = st.integers(0, len(ROWS) - 1)


def boxed(rules: Rules, row: Floats, may_miss: Bools | None = None) -> tuple[Box, RowDomains]:
    space = describe_space(rules.schema, np.zeros((2, len(row))), may_miss)
    box = search_box(row[None], space, Limits().check(rules.schema))
    return rules.narrow(row[None], box, space)


def is_inside(genomes: Floats, domains: RowDomains) -> Bools:
    """Return which genomes are in the box, on the grid and made of allowed levels."""
    inside = np.ones(len(genomes), dtype=np.bool_)
    for j, it in enumerate(domains.features[0]):
        is_missing = genomes[:, j] == MISSING
        genes = np.where(is_missing, 0.0, genomes[:, j])
        is_in = (it["lower"] <= genes) & (genes <= it["upper"])
        if it["n_levels"] > 0:
            is_in &= domains.allowed[0, j, genes.astype(np.int64)]
        elif it["pitch"] > 0.0:
            steps = (genes - it["lower"]) / it["pitch"]
            is_in &= np.abs(steps - np.rint(steps)) < 1e-6
        inside &= is_missing | np.where(it["may_change"], is_in, False) | (genes == it["anchor"])
    return inside


def draws(n: int) -> Keys:
    return np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


@COMPILED
@given(rule_sets, schemas)
def test_canonical_texts_mean_the_same(texts: list[str], schema: Schema) -> None:
    rules = Rules.parse(texts, schema)

    again = Rules.parse(rules.texts, schema)

    assert again == rules
    assert again.normal_rules == rules.normal_rules
    assert again.texts == rules.texts


@COMPILED
@given(rule_sets, schemas, some_rows)
@example(["n / (n - 2) > 1"], SCHEMAS["float64"], 0)
@example(["not (n / (n - 2) > 1)"], SCHEMAS["float64"], 0)
@example(["x + 0.2 <= 0.3"], SCHEMAS["float32"], 0)
def test_the_program_agrees_with_the_oracle(texts: list[str], schema: Schema, i: int) -> None:
    rules, row = Rules.parse(texts, schema), row_of(i, schema)
    genomes = genomes_of(row, schema)

    answers = rules.verdicts(genomes, row)

    np.testing.assert_array_equal(answers, oracle.verdicts(rules, genomes, row))


@COMPILED
@given(rule_sets, schemas, some_rows, st.sets(st.integers(0, 4), min_size=1), st.booleans())
def test_the_program_agrees_with_the_oracle_about_missing_values(
    texts: list[str], schema: Schema, i: int, missing: set[int], is_row_missing: bool
) -> None:
    rules, row = Rules.parse(texts, schema), row_of(i, schema).copy()
    genomes = genomes_of(row, schema)
    genomes[::2, sorted(missing)] = MISSING
    if is_row_missing:
        row[sorted(missing)] = MISSING

    answers = rules.verdicts(genomes, row)

    np.testing.assert_array_equal(answers, oracle.verdicts(rules, genomes, row))


nudges = st.lists(
    st.sampled_from([0.0, 0.5, 0.999, 1.0, 1.001, 2.0, 3.0, 1e3, 1e6, 2e6]) | st.floats(0.0, 4.0),
    min_size=1,
    max_size=8,
)


@COMPILED
@given(rule_sets, schemas, some_rows, nudges, st.sampled_from([-1.0, 1.0]))
@example(["x <= 0.3", "x in steps of 0.2"], SCHEMAS["reals"], 0, [1.0, 2.0], 1.0)
def test_the_program_agrees_with_the_oracle_at_the_distance_of_round_off(
    texts: list[str], schema: Schema, i: int, shares: list[float], sign: float
) -> None:
    """Values lie next to where comparisons and steps turn, by shares of the round-off."""
    rules, row = Rules.parse(texts, schema), row_of(i, schema)
    genomes = genomes_of(row, schema)
    nudge = np.resize(np.array(shares), len(genomes)) * sign * ROUND_OFF
    genomes[:, :2] += nudge[:, None] * np.maximum(genomes[:, :2], 0.2) * rules.rounding[:2]

    answers = rules.verdicts(genomes, row)

    np.testing.assert_array_equal(answers, oracle.verdicts(rules, genomes, row))


@COMPILED
@given(conditions, schemas, some_rows)
def test_a_condition_and_its_contrary_never_hold_both(text: str, schema: Schema, i: int) -> None:
    row = row_of(i, schema)
    genomes = genomes_of(row, schema)

    holds = Rules.parse([text], schema).holds(genomes, row)
    contrary = Rules.parse([f"not ({text})"], schema).holds(genomes, row)

    assert not (holds & contrary).any()
    if "/" not in text:
        assert (holds | contrary).all()


@COMPILED
@given(conditions, conditions, schemas, some_rows)
def test_connectives_mean_what_they_say(a: str, b: str, schema: Schema, i: int) -> None:
    row = row_of(i, schema)
    genomes = genomes_of(row, schema)

    def holds(text: str) -> Bools:
        return Rules.parse([text], schema).holds(genomes, row)

    np.testing.assert_array_equal(holds(f"({a}) and ({b})"), holds(a) & holds(b))
    np.testing.assert_array_equal(holds(f"({a}) or ({b})"), holds(a) | holds(b))
    np.testing.assert_array_equal(holds(f"({a}) implies ({b})"), holds(f"not ({a})") | holds(b))


@COMPILED
@given(rule_sets, schemas, some_rows)
@example(["not (n = n and job = a and job = b)", "fixed n"], SCHEMAS["float64"], 0)
def test_bounds_keep_every_genome_the_rules_allow(texts: list[str], schema: Schema, i: int) -> None:
    rules, row = Rules.parse(texts, schema), row_of(i, schema)
    genomes = genomes_of(row, schema)
    allowed = genomes[rules.holds(genomes, row)]
    assume(len(allowed))

    box, domains = boxed(rules, row)

    assert is_inside(allowed, domains).all()
    n_changed = (allowed != row).sum(axis=1)
    assert (n_changed <= box.max_free[0] + box.is_forced.sum()).all()


@COMPILED
@given(rule_sets, schemas, some_rows)
@example(["n in steps of 1.5", "changed(n)", "n <= 2", "n >= 1"], SCHEMAS["float64"], 0)
def test_contradictions_are_true_and_small(texts: list[str], schema: Schema, i: int) -> None:
    rules, row = Rules.parse(texts, schema), row_of(i, schema)
    genomes = genomes_of(row, schema)

    found = rules.contradictions(row)

    for message in found:
        named = [rule for rule in rules.rules if f'"{rule}"' in message]
        assert named
        assert not Rules(tuple(named), schema).holds(genomes, row).any()
        for k in range(len(named)):
            assert not Rules((*named[:k], *named[k + 1 :]), schema).contradictions(row)


@COMPILED
@given(rule_sets, schemas, some_rows)
def test_bounds_refuse_what_is_contradictory(texts: list[str], schema: Schema, i: int) -> None:
    rules, row = Rules.parse(texts, schema), row_of(i, schema)

    found = rules.contradictions(row)

    if found:
        with pytest.raises(InvalidInput, match="constraints contradict each other"):
            rules.bounds(row)
    else:
        rules.bounds(row)


@COMPILED
@given(rule_sets, schemas, some_rows)
def test_what_repair_calls_good_is_good(texts: list[str], schema: Schema, i: int) -> None:
    rules, row = Rules.parse(texts, schema), row_of(i, schema)
    genomes = genomes_of(row, schema)
    try:
        _, domains = boxed(rules, row)
    except CounterpointError:
        return
    before, repaired = rules.holds(genomes, row) & is_inside(genomes, domains), genomes.copy()

    is_good = repair_all(repaired, rules.program, domains, draws(len(genomes)))

    assert is_inside(repaired, domains).all()
    np.testing.assert_array_equal(rules.holds(repaired, row), is_good)
    np.testing.assert_array_equal(repaired[before], genomes[before])
    assert is_good[before].all()


@COMPILED
@given(rule_sets, schemas, some_rows, st.integers(0, 359))
def test_repair_depends_on_the_genome_and_its_draws_alone(
    texts: list[str], schema: Schema, i: int, k: int
) -> None:
    rules, row = Rules.parse(texts, schema), row_of(i, schema)
    genomes = genomes_of(row, schema)
    try:
        _, domains = boxed(rules, row)
    except CounterpointError:
        return
    together, alone = genomes.copy(), genomes[k : k + 1].copy()

    repair_all(together, rules.program, domains, draws(len(genomes)))
    repair_all(alone, rules.program, domains, draws(len(genomes))[k : k + 1])

    np.testing.assert_array_equal(together[k], alone[0])


@COMPILED
@given(rule_sets, schemas, some_rows, st.sets(st.integers(0, 4), min_size=1), st.booleans())
@example(["n >= 3", "not (n >= 3)"], SCHEMAS["float64"], 0, {0}, True)
@example(["x <= 0.1 * n", "job = a or n = 4"], SCHEMAS["float64"], 0, {0}, False)
@example(["changed(own) and n in ..1"], SCHEMAS["float64"], 0, {4}, False)
def test_bounds_and_repair_keep_what_is_missing(
    texts: list[str], schema: Schema, i: int, missing: set[int], is_row_missing: bool
) -> None:
    """Of every genome, with and without the missing values: what the rules allow is kept."""
    i = i % len(DATA) if is_row_missing else i  # what the row lacks widens no box
    rules, row, may_miss = Rules.parse(texts, schema), row_of(i, schema).copy(), np.zeros(5, bool)
    genomes, places = genomes_of(row, schema), sorted(missing)
    genomes[::2, places] = MISSING
    if is_row_missing:
        row[places] = MISSING
    else:
        may_miss[places] = True
    allowed = rules.holds(genomes, row)
    try:
        _, domains = boxed(rules, row, may_miss)
    except CounterpointError as error:
        if "contradict" in str(error):
            assert not allowed.any()
        return
    repaired = genomes.copy()

    is_good = repair_all(repaired, rules.program, domains, draws(len(genomes)))

    assert is_inside(genomes[allowed], domains).all()
    np.testing.assert_array_equal(repaired[allowed], genomes[allowed])
    np.testing.assert_array_equal(rules.holds(repaired, row), is_good)
    assert is_good[allowed].all()
