"""Rules: what a counterfactual must satisfy, written as text.

    text ─► tokens ─► grammar ─► tree ─► check ─► a tree with columns and codes
                                                    └─► normal_form: few nodes, no negations
                                                         ├─► program ─► repair: kernels
                                                         └─► domains ─► propagation

`normal_form` says what operators and comparisons mean, for kernels and for propagation alike; the
program has the last word on a genome. `Rules` in `rules.py` is the door: `parse`, `holds`,
`contradictions`; `RowRules` are the rules as they bind the rows of one search.
"""
