"""Rules and costs in a saved result: written in canonical form, read as strictly as the rest."""

from __future__ import annotations

import numpy as np

from counterpoint.arrays import Floats
from counterpoint.errors import InvalidInput
from counterpoint.problem.costs import check_costs
from counterpoint.problem.rules.rules import Rule, Rules
from counterpoint.problem.ruling import Ruling
from counterpoint.result.document import Node
from counterpoint.table.schema import Schema

MOST_RULES = 1000


def write_rules(ruling: Ruling | None) -> list[dict[str, str]]:
    """Return the rules as JSON; of a function only its name can be kept."""
    rules = () if ruling is None else ruling.rules.rules
    return [
        {"function": rule.name} if rule.statement is None else {"rule": str(rule)} for rule in rules
    ]


def read_rules(node: Node, schema: Schema) -> Rules:
    """Return the rules; a function is its name only, and nobody can ask it."""
    entries = node.items()
    if len(entries) > MOST_RULES:
        raise InvalidInput(f"{node.path} must have at most {MOST_RULES:,} rules.")
    return Rules(tuple(_read_rule(entry, schema) for entry in entries), schema)


def _read_rule(node: Node, schema: Schema) -> Rule:
    """Return one rule, which must be written as we write it."""
    if isinstance(node.value, dict) and "function" in node.value:
        (name,) = node.fields("function")
        return Rule(None, None, name.text())
    (text,) = node.fields("rule")
    rule = Rule.parse(text.text()).checked(schema)
    if str(rule) != text.value:
        text.refuse(f"the canonical {str(rule)!r}")
    return rule


def check_rules(node: Node, genomes: Floats, rules: Rules, row: Floats) -> None:
    """Refuse counterfactuals that break a rule of the same file."""
    verdicts = rules.verdicts(genomes, row)
    if not verdicts.all():
        i, k = np.argwhere(~verdicts)[0].tolist()
        raise InvalidInput(f'{node.path}[{i}] breaks the rule "{rules.written[k]}".')


def read_prices(node: Node, schema: Schema) -> Floats | None:
    """Return the costs of all features, or None if none was given."""
    if node.value is None:
        return None
    return check_costs(dict(zip(schema.names, node.numbers(len(schema)), strict=True)), schema)
