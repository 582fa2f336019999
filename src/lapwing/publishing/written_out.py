"""A publication written out: all of its tables in one record, and in one long table for spreadsheets.

Both are computed from the numbers that were released, and cost nothing. A record needs no plan to be read again.
"""

import csv
import io
import itertools
from collections.abc import Mapping
from typing import Any, Final

from lapwing.publishing.publication import Publication
from lapwing.vocabulary.exact import Exact, as_confidence
from lapwing.vocabulary.wording import format_exact

_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")
_PLACES: Final = 2


def publication_record(publication: Publication, confidence: Exact = "0.95") -> dict[str, Any]:
    """Return a publication as JSON values: what was released, and every wanted table with the bounds of its cells.

    The numbers of a table are in the order of its codes, the last column fastest. Each interval holds by itself, with
    the `confidence`.
    """
    tables = [publication.table(*names) for names in publication]
    return {
        **publication.to_dict(),
        "codes": {one.name: list(one.called) for one in publication.offer.columns},
        "confidence": format_exact(as_confidence(confidence)),
        "remark": tables[0].remark,
        "tables": [
            {
                "columns": list(table.names),
                "sd": table.sd,
                "margin": table.margin(confidence),
                **dict(zip(("people", "low", "high"), table.bounded(confidence), strict=True)),
            }
            for table in tables
        ],
    }


def csv_of_publication(record: Mapping[str, Any]) -> str:
    """Return all tables of a record in one: a line a cell, where a column that its table does not have is empty.

    What a spreadsheet would compute is written as text.

    >>> table = {"columns": ["sex"], "people": [3.25, 1.0], "low": [1.0, 0.0], "high": [5.0, 3.0]}
    >>> told = {"columns": ["sex", "age"], "codes": {"sex": ["F", "=M"]}, "tables": [table]}
    >>> print(csv_of_publication(told), end="")
    table,sex,age,people,low,high
    sex,F,,3.25,1.0,5.0
    sex,'=M,,1.0,0.0,3.0
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", *map(safe_cell, record["columns"]), "people", "low", "high"])
    for table in record["tables"]:
        numbers = zip(*(table[name] for name in ("people", "low", "high")), strict=True)
        cells = itertools.product(*(record["codes"][name] for name in table["columns"]))
        for cell, bounded in zip(cells, numbers, strict=True):
            codes = dict(zip(table["columns"], cell, strict=True))
            shown = (safe_cell(codes.get(name, "")) for name in record["columns"])
            writer.writerow([safe_cell(", ".join(table["columns"])), *shown, *(round(one, _PLACES) for one in bounded)])
    return out.getvalue()


def safe_cell(value: Any) -> Any:
    """Return a value for a spreadsheet: a text that it would compute is marked as text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
