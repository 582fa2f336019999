"""lapwing answers questions about tables of people with differential privacy.

Public are the names of this package, for analysts and custodians, and of `lapwing.mechanisms`, `lapwing.accounting`,
`lapwing.auditor`, `lapwing.attacks`, `lapwing.ledger` and `lapwing.errors`, for those who build on it or take it apart.
Each lists them in `__all__`. All other modules are private: they may change their names and places with every version.
"""

from lapwing.vocabulary.loading import load_lazily

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = load_lazily(
    __name__,
    {
        "sum": "lw.total(table, column)",
        "avg": "lw.mean(table, column)",
        "average": "lw.mean(table, column)",
        "std": "lw.stddev(table, column)",
        "var": "lw.variance(table, column)",
        "quantile": "lw.quantiles(table, column, at=[0.5])",
        "percentile": "lw.quantiles(table, column, at=[0.9])",
        "histogram": "lw.count_rows(table, by=lw.bins(column, 10)), or sql('select histogram(column, 10) from table')",
        "nunique": "lw.count_distinct(table, column)",
        "corr": "lw.correlation(table, x, y)",
        "select": "session.sql('select ...')",
    },
)
