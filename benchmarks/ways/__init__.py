"""Which share of all minimal ways each method tells, and what is shown first after refitting.

    python -m benchmarks.ways [--quick] [--rows 25] [--tables credit,tae] [--models forest]
                              [--methods ours,mocmod,whatif] [--only survival] [--cache FOLDER]

A way is a set of features whose values alone, changed, reach the target; it is minimal if no proper
subset is one. `subjects.py` has tables, models and refused rows, `brute_force.py` tries all values
of all small sets of features (kept on disk, since it is dear), `answers.py` calls the methods, and
`measures.py` compares what they tell with what there is.
"""
