"""Nameless copies: an estimator that forgot the frame it was fitted on, so it takes arrays."""

from __future__ import annotations

import copy
from typing import Any

# What a scikit-learn estimator remembers of frames: the columns it was fitted on, and whether it
# is to return frames itself.
OF_FRAMES = ("feature_names_in_", "_sklearn_output_config")


def nameless(part: Any) -> Any:
    """Return an estimator that knows nothing of frames, its parts likewise.

    Asked with an array, the copy has no names to miss, so it does not warn. It is as shallow as
    can be: nothing of the caller's is written to, and whatever knows no frames is shared.
    """
    if type(part) in (list, tuple):
        items = [nameless(item) for item in part]
        has_changed = any(new is not old for new, old in zip(items, part, strict=True))
        return type(part)(items) if has_changed else part
    if not any(hasattr(part, method) for method in ("predict", "predict_proba", "transform")):
        return part
    own = getattr(part, "__dict__", {})
    kept = {name: nameless(value) for name, value in own.items() if name not in OF_FRAMES}
    if len(kept) == len(own) and all(kept[name] is own[name] for name in own):
        return part
    bare = copy.copy(part)
    bare.__dict__.clear()
    bare.__dict__.update(kept)
    return bare
