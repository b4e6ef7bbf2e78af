"""Rules: what a counterfactual must satisfy, written as text.

    text ─► tokens ─► grammar ─► syntax ─► check ─► a tree with columns and codes
                                                     ├─► evaluate: NumPy, has the last word
                                                     └─► core: few nodes, no negations
                                                          ├─► program, machine, repair: kernels
                                                          └─► propagate ─► bounds, contradictions

`Rules` in `rules.py` is the door: `parse`, `narrow`, `program`, `holds`, `contradictions`.
"""
