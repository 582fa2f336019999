"""Ways to write a person key: numbers, words, days and UUIDs, each as programs spell the same and nearly the same."""

import unicodedata
from datetime import date
from uuid import UUID

_NUMBERS = (0, 1, 7, 10, 1200, 2**31, 2**53, 2**53 + 1, 10**12, 10**12 + 1, 2**63 - 1, 2**63, 10**30, -1, -7, -(2**63))
_WORDS = (
    "ann",
    "P-7",
    "straße",
    "Zoë",
    "İda",
    "ﬁ",
    "Ⅷ",
    "a b",
    'say "x"',
    "it's",
    "null",
    "NaN",
    "true",
    "x",
    "a,b;c|d",
)
_FRACTIONS = (0.1, 1 / 3, 7.5, 1e300, 5e-324)
_DAYS = (date(2020, 1, 1), date(1999, 12, 31), date(1, 1, 1))
_UUIDS = tuple(UUID(int=number) for number in (0xC0FFEE, 2**127 + 0xABCDEF, 10))
_OTHER_DIGITS = {
    mark: str.maketrans("0123456789", digits) for mark, digits in enumerate(("０１２３４５６７８９", "٠١٢٣٤٥٦٧٨٩"))
}


def drawn(rng):
    """Return a few spellings: some of one thing, some of things beside it, now and then one of them twice."""
    family = rng.choice((_of_number, _of_number, _of_digits, _of_word, _of_fraction, _of_day, _of_uuid))
    near = family(rng) + rng.choice((family, _of_digits, _of_word))(rng)
    chosen = [rng.choice(near) for _ in range(rng.randint(2, 5))]
    if rng.random() < 0.1:
        chosen.append("")
    rng.shuffle(chosen)
    return chosen


def _of_number(rng):
    number = rng.choice(_NUMBERS)
    plain, digits, sign = str(number), str(abs(number)), "-" if number < 0 else ""
    return [
        *[plain] * 8,
        *_around(plain),
        f"{sign}0{digits}",
        f"{sign}000{digits}",
        f"+{digits}",
        f"-{digits}",
        f"--{digits}",
        f"{plain}.0",
        f"{plain}.",
        f"{plain}e0",
        f"{number:.5E}",
        f"{number:,}",
        f"{number:_}",
        f"{number:#x}",
        f"{number + 1}",
        *(plain.translate(table) for table in _OTHER_DIGITS.values()),
    ]


def _of_digits(rng):
    """Return numbers and what is as easily read as one."""
    number = rng.choice(_NUMBERS)
    return [f"{number}", f"{number + 1}", f"{-number}", f"0{number}", f"+{number}", f"{number} "]


def _of_word(rng):
    word = rng.choice(_WORDS)
    forms = [unicodedata.normalize(form, word) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    cases = [word.upper(), word.lower(), word.title(), word.swapcase(), word.casefold()]
    return [word, word, *forms, *cases, *_around(word), f"{word}\u0301", f"'{word}'", f'"{word}"', f"{word}\\"]


def _of_fraction(rng):
    number = rng.choice(_FRACTIONS)
    return [
        repr(number),
        f"{number:.17g}",
        f"{number:.6f}",
        f"{number:e}",
        f"{number}0",
        f"-{number}",
        "0.0",
        "-0.0",
        "-0",
    ]


def _of_day(rng):
    day = rng.choice(_DAYS)
    iso, short = day.isoformat(), f"{day.year}-{day.month}-{day.day}"
    return [iso, short, iso.replace("-", ""), f"{iso}T00:00:00", f"{iso} 00:00:00", f"{iso} 00:00:00+00", *_around(iso)]


def _of_uuid(rng):
    uuid = str(rng.choice(_UUIDS))
    return [uuid, uuid, uuid.upper(), uuid.replace("-", ""), f"{{{uuid}}}", f"urn:uuid:{uuid}", *_around(uuid)]


def _around(text):
    """Return a text with what is easily overlooked before it or behind."""
    odd = (" ", "  ", "\t", "\u00a0", "\u200b", "\ufeff", "\0")
    return [*(f"{mark}{text}" for mark in odd), *(f"{text}{mark}" for mark in odd)]
