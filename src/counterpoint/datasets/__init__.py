"""A table to try counterfactuals on, kept inside the package."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

__all__ = ["load_credit"]

_NUMBERS = ["age", "job", "credit_amount", "duration"]
_CATEGORIES = ["sex", "housing", "saving_accounts", "checking_account", "purpose"]


def load_credit() -> tuple[pd.DataFrame, pd.Series]:
    """Load the German credit data as the MOC paper uses it.

    The table holds the 522 applicants whose saving and checking accounts are both known. Rare
    purposes are combined into ``others``, and the two highest levels of saving accounts into
    ``rich``. Rows are in the order of the UCI file.

    Returns
    -------
    features : pandas.DataFrame
        Nine columns: ``age``, ``job``, ``credit_amount`` and ``duration`` as ``int64``, and
        ``sex``, ``housing``, ``saving_accounts``, ``checking_account`` and ``purpose`` as unordered
        categories with sorted levels.
    risk : pandas.Series
        ``"good"`` or ``"bad"`` for each row, named ``risk``.

    Notes
    -----
    The data are Hans Hofmann's Statlog (German Credit Data), licensed under CC BY 4.0 [1]_. The
    selection of rows and the combined categories follow the code of [2]_.

    References
    ----------
    .. [1] Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository.
       https://doi.org/10.24432/C5NC77
    .. [2] Dandl, S., Molnar, C., Binder, M. and Bischl, B. (2020). Multi-Objective Counterfactual
       Explanations. Parallel Problem Solving from Nature - PPSN XVI.

    Examples
    --------
    >>> from counterpoint.datasets import load_credit
    >>> features, risk = load_credit()
    >>> features.shape
    (522, 9)
    >>> features[["age", "sex", "credit_amount", "duration"]].head(1).to_dict("records")
    [{'age': 22, 'sex': 'female', 'credit_amount': 5951, 'duration': 48}]
    >>> features["purpose"].cat.categories.to_list()
    ['car', 'furniture', 'others', 'radio/TV']
    >>> risk.value_counts().to_dict()
    {'good': 291, 'bad': 231}
    """
    with files(__name__).joinpath("credit.csv").open(encoding="utf-8") as stream:
        table = pd.read_csv(stream, keep_default_na=False)
    risk = table.pop("risk")
    types = dict.fromkeys(_NUMBERS, "int64") | dict.fromkeys(_CATEGORIES, "category")
    return table.astype(types), risk
