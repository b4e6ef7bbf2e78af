"""The help texts of the command line: what each command does, with examples to learn from."""

from __future__ import annotations

ABOUT = """\
What would have had to be different for the model to decide otherwise?

counterpoint gives, for a row of a table and the model that scores it, counterfactuals that
reach the wanted outcome, stay close to the row, change few features and look like real data,
each as well as the others allow.
"""

EXPLAIN = """\
Explain rows of a table to the users of a model.

  counterpoint explain --model m.skops --data d.csv --row 17 --target good
  counterpoint explain --model m.skops --data d.csv --row 17 --target good \\
      --fixed sex --constraint "age increases" --range amount=..5000 --out found.json
  counterpoint explain --model m.skops --data d.csv --row 17 --target good \\
      --feature "age=Integer(18, 90)" --unit duration=months --report report.html
  counterpoint explain --model m.skops --data d.csv --row 17 --target good \\
      --labels names.toml --lang de --letter letter.html --csv found.csv
  counterpoint explain --model m.onnx --data d.parquet --row 17 --row 18 \\
      --target good:0.7..1 --classes bad,good --out found.parquet
"""

BATCH = """\
Explain all rows of many files into a folder of Parquet files.

  counterpoint batch --model m.skops --data train.parquet --rows declined/*.parquet \\
      --id loan --target good --out explained/
  counterpoint batch --model m.skops --data train.parquet --rows s3://bank/declined/*.parquet \\
      --id loan --target good --out explained/ --engine dask --scheduler tcp://10.0.0.5:8786
  counterpoint batch --model m.onnx --data d.csv --classes bad,good --rows new.csv \\
      --target good:0.7..1 --fixed sex --constraint "age increases" --keep 3 --out explained/

Whatever ends it -- Ctrl-C, a crash, a full disk, the power -- the same command goes on where it
ended, and the files are the same, byte for byte, as if nothing had happened. So they are for any
engine and any number of workers. A row that fails becomes a line that says why, and ends nothing.

The output has a line for each counterfactual: the id, the number of the row, status, message, all
features, validity, prediction, objectives, and which features change. A row without
counterfactuals has its near misses, or one line.
"""

BATCH_END = """\
exit status:
  0  every row has a counterfactual, or reaches the target already
  1  some rows have none: best effort
  2  an argument, a file or the disk cannot be used; once that is mended, the same command goes on
  3  some rows failed: their lines say why
  130  interrupted; the same command goes on
"""

SERVE = """\
Open the explorer: pick a row, edit it, see the prediction, set target and rules, and search.

  counterpoint serve --model m.skops --data d.csv --open
  counterpoint serve --model m.skops --data d.csv --rows new.csv --target good --fixed sex

It listens on this computer only. The address that is printed has a token; without it nobody, and no
other page in your browser, gets an answer. Ctrl-C ends it.
"""

ASKED = """\
targets:
  good              the class 'good', as the model's own decision
  good:0.8..1       its probability between 0.8 and 1
  1200..1500        for a model without classes: a score between 1200 and 1500 (1200.., ..1500)
  1500              a score of exactly 1500
  opposite          whatever the model does not say now

ranges:
  age=18..90        a number or a date between two ends (age=18.., age=..90)
  job=clerk,nurse   one of some levels

constraints:
  "fixed sex"  "age increases"  "duration in 6..60"  "job in {clerk, nurse}"
  "amount <= 5 * income"  "purpose = car implies age >= 21"  "at most 3 changes"

"""

KINDS = """\
labels, as TOML or JSON:
  outcome = "the application"
  features = {duration = "term"}
  levels = {job = {2 = "skilled"}}
  classes = {good = "approved"}
  units = {duration = ["month", "months"]}
  [de]                        # texts of one language; the others are for all
  features = {duration = "die Laufzeit"}

kinds:
  "age=Integer(18, 90)"  "rate=Real(0, 1, decimals=2)"  "day=Date('2020-01-01', None)"
  "grade=Ordered(['low', 'mid', 'high'])"  "zip=Categorical()"

"""

EXPLAIN_END = """\
exit status:
  0  every row has a counterfactual, or reaches the target already
  1  a row has none: the message says why and what to try
  2  an argument or a file cannot be used
  3  the model failed
  130  interrupted; what was found is shown and saved
"""
