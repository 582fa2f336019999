"""How a page is drawn: templates, the files that go with them from memory, and numbers as people read them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context as PageContext
from starlette.requests import Request
from starlette.responses import Response

from lapwing.doors.server.pages.library_words import bounds, sentence
from lapwing.doors.server.problems import NOT_THERE, problem_bytes
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import exact
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import named

_HERE: Final = Path(__file__).parent
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_DIGITS: Final = 3
_SMALL: Final = -5
_SHORT_DELTA: Final = -3
_THOUSAND: Final = 1000


@frozen(kw_only=False)
class StaticFile:
    """A file that pages need: its bytes, its type, and a mark that changes with it."""

    body: bytes
    media_type: str
    mark: str


@cache
def static_files() -> Mapping[str, StaticFile]:
    """Return all files that pages need, by name; what is not among them is not there, however it is spelled."""
    found = {}
    for path in sorted((_HERE / "static").iterdir()):
        if path.suffix in _TYPES:
            body = path.read_bytes()
            found[path.name] = StaticFile(body, _TYPES[path.suffix], sha256(body).hexdigest()[:16])
    return found


async def show_static(request: Request) -> Response:
    """Answer with a file that pages need."""
    found = static_files().get(request.path_params["name"])
    if found is None:
        return Response(problem_bytes(*NOT_THERE), 404, media_type="application/json")
    headers = {"Cache-Control": "private, max-age=31536000, immutable", "ETag": f'"{found.mark}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(b"", 304, headers)
    return Response(found.body, 200, headers, found.media_type)


@cache
def templates() -> Environment:
    """Return the templates; everything that is put into them is escaped, and a name that is missing is an error."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {
        "above": above,
        "below": below,
        "price": _price,
        "people": people,
        "moment": moment,
        "bytes": size_text,
    }
    made.filters |= {"number": number, "budget": budget_text, "named": named, "delta": delta_text}
    made.filters |= {"columns": columns_text, "sentence": sentence, "bounds": bounds}
    made.globals["now"] = lambda: datetime.now(UTC).isoformat()
    made.globals["static"] = lambda name: f"/static/{name}?{static_files()[name].mark}"
    return made


def columns_text(body: Mapping[str, Any]) -> str:
    """Return the columns of a publication in a list: by their names, or as they were written; its table, without any.

    >>> columns_text({"table": "patient", "columns": [{"name": "old", "by": "age > 90"}, {"by": "sex"}]})
    'old, sex'
    >>> columns_text({"table": "patient"})
    'patient'
    """
    return ", ".join(one.get("name", one["by"]) for one in body.get("columns", [])) or str(body["table"])


def above(number: Any) -> str:
    """Return a price in three digits, rounded up.

    >>> above("0.098231827112"), above("1/3"), above(2)
    ('0.0983', '0.334', '2')
    """
    return _short(Fraction(number), ROUND_CEILING)


def budget_text(budget: dict[str, str]) -> str:
    """Return a budget in signs, as they stand on the buttons.

    >>> budget_text({"epsilon": "3", "delta": "0.000001"})
    'ε 3, δ 1e-6'
    """
    signs = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
    written = {name: delta_text(amount) if name == "delta" else amount for name, amount in budget.items()}
    return ", ".join(f"{signs[name]} {amount}" for name, amount in written.items())


def delta_text(delta: Any) -> str:
    """Return a delta in at most three digits, rounded up.

    >>> delta_text("1e-6"), delta_text("0.00000025"), delta_text("1/3000000"), delta_text("0.01")
    ('1e-6', '2.5e-7', '3.34e-7', '0.01')
    """
    near = _rounded(Fraction(delta), ROUND_CEILING)
    if near.adjusted() >= _SHORT_DELTA:
        return f"{near.normalize():f}"
    digits, _, power = f"{near:.2e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"


def below(number: Any) -> str:
    """Return a number in three digits, rounded down.

    >>> below("9.901768172888"), below("0")
    ('9.90', '0')
    """
    return _short(Fraction(number), ROUND_FLOOR)


def _rounded(number: Fraction, rounding: str) -> Decimal:
    context = Context(prec=_DIGITS, rounding=rounding)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _short(number: Fraction, rounding: str) -> str:
    near = _rounded(number, rounding)
    return f"{near:f}" if not near or near.adjusted() > _SMALL else f"{near:.2e}"


@pass_context
def _price(context: PageContext, price: Mapping[str, Any]) -> str:
    return price_text(price, context["currency"])


def price_text(price: Mapping[str, Any], currency: str) -> str:
    """Return a price as pages show it: in the currency of the budget, or in rho where it has no epsilon.

    >>> price = {"epsilon": "0.098231827112", "delta": "0", "rho": 0.0048}
    >>> price_text(price, "epsilon"), price_text(price, "rho")
    ('ε 0.0983', 'ρ 0.0048')
    """
    if price["epsilon"] is None or (currency == "rho" and price["rho"] is not None):
        return f"ρ {above(str(price['rho']))}"
    delta = Fraction(price["delta"] or 0)
    return f"ε {above(price['epsilon'])}" + (f", δ {delta_text(delta)}" if delta else "")


def people(number: Any) -> str:
    """Return a number of people.

    >>> people(1200), people("1200"), people("2.5")
    ('1,200', '1,200', '2.5')
    """
    exact = Fraction(number)
    return f"{int(exact):,}" if exact.denominator == 1 else f"{float(exact):,.4g}"


def number(value: Any) -> str:
    """Return the text of a cell of an answer: a number as people read it, or a value as it is.

    >>> number("1/3"), number(None), number("north"), number(True)
    ('0.3333', '', 'north', 'true')
    """
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).casefold()
    try:
        return people(exact("number", value))  # a text may be anybody's: 1e99999999 is not computed
    except ParameterError:
        return str(value)


def moment(at: int | str) -> str:
    """Return when something was, in the time of the server's ledger, which is UTC.

    >>> moment("2026-11-16T09:26:56+00:00"), moment(0)
    ('2026-11-16 09:26', '1970-01-01 00:00')
    """
    when = datetime.fromtimestamp(at, UTC) if isinstance(at, int) else datetime.fromisoformat(at)
    return when.strftime("%Y-%m-%d %H:%M")


def size_text(size: int) -> str:
    """Return how much room something takes.

    >>> size_text(512), size_text(20_480), size_text(3_500_000_000)
    ('512 B', '20.5 kB', '3.5 GB')
    """
    amount, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < _THOUSAND:
            break
        amount, unit = amount / _THOUSAND, larger
    return f"{amount:.3g} {unit}"
