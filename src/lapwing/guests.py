"""Verbs that a session has from rooms above it: `clinic.publish(...)` is `publish(clinic, ...)` of its room.

A room adds its verbs here and in the stub beside this file, which a type checker reads, and no line to the session. It
is loaded when one of its verbs is first used. The session knows none of them, and calls none of them.
"""

from importlib import import_module
from types import MethodType
from typing import Any

VERBS = {
    "compare": "lapwing.analyses.compare",
    "dashboard": "lapwing.analyses.dashboard",
    "preview_dashboard": "lapwing.analyses.dashboard",
    "preview_compare": "lapwing.analyses.compare",
    "preview_survival": "lapwing.analyses.survival",
    "preview_rows_a_person": "lapwing.analyses.rows_a_person",
    "rows_a_person": "lapwing.analyses.rows_a_person",
    "survival": "lapwing.analyses.survival",
    "certify": "lapwing.publishing.certificate",
    "estimate": "lapwing.analyses.estimate",
    "explorer": "lapwing.publishing.explorer_opening",
    "preview_certify": "lapwing.publishing.certificate",
    "preview_estimate": "lapwing.analyses.estimate",
    "preview_explorer": "lapwing.publishing.explorer_opening",
    "load_synthetic": "lapwing.publishing.synthesize",
    "decision_tree": "lapwing.procedures.decision_tree",
    "graph": "lapwing.graphs.network",
    "k_means": "lapwing.procedures.k_means",
    "preview_decision_tree": "lapwing.procedures.decision_tree",
    "preview_k_means": "lapwing.procedures.k_means",
    "preview_principal_components": "lapwing.procedures.principal_components",
    "preview_regress": "lapwing.analyses.regress",
    "regress": "lapwing.analyses.regress",
    "preview_publish": "lapwing.publishing.publish",
    "preview_synthesize": "lapwing.publishing.synthesize",
    "preview_sample_count": "lapwing.procedures.sample_count",
    "principal_components": "lapwing.procedures.principal_components",
    "publish": "lapwing.publishing.publish",
    "synthesize": "lapwing.publishing.synthesize",
    "sample_count": "lapwing.procedures.sample_count",
    "preview_train": "lapwing.learning.train",
    "train": "lapwing.learning.train",
}
"""Where each verb is: a function whose first parameter is the session."""
STATISTICS = {
    **{name: name for name in ("count", "count_rows", "total", "mean", "median", "quantiles", "variance", "stddev")},
    **{name: name for name in ("proportion", "covariance", "correlation", "count_distinct", "top")},
    "sum": "total",
    "avg": "mean",
    "histogram": "count",
    "std": "stddev",
    "var": "variance",
    "quantile": "quantiles",
}
"""What people call on a session, and the builder of the question that they mean."""


ONLY_ASKING = frozenset(
    {"compare", "preview_compare", "preview_survival", "survival", "preview_rows_a_person", "rows_a_person"}
)
"""Verbs that ask one question, and compute the rest from its answer: a session at a distance has these."""

STUDIES = frozenset({"graph", "k_means", "principal_components", "decision_tree", "sample_count", "train"})
"""Verbs that make one reservation and compute the rest from its rounds, all of whose words can be sent."""


class AskingGuests:
    """What has the verbs that ask and do no more; a session at a distance is one."""

    _verbs = ONLY_ASKING

    def __getattr__(self, name: str) -> Any:
        if name in self._verbs:
            return MethodType(getattr(import_module(VERBS[name]), name), self)
        told = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in STATISTICS:
            told = f"a session asks questions: write ask(lw.{STATISTICS[name]}(...), epsilon=...)"
        elif name in VERBS:
            told += ": it cannot be asked over HTTP yet; ask where the data is, in lapwing.open(...) of the folder"
        raise AttributeError(told, name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._verbs})


class Guests(AskingGuests):
    """What has the verbs of all rooms; a session is one."""

    _verbs = frozenset(VERBS)
