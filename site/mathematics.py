"""Sets the formulas of the proofs in MathML, which browsers draw by themselves: nothing is fetched, no script runs.

The proofs write formulas in plain text, so that they can be read in an editor: `e^{-x}`, `Σ_j p_j`, `b²t²`. An indented
line is a formula of its own; inside a paragraph, only what has an index or an exponent is set.
"""

import html
import re
from collections.abc import Iterator

SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "-": "−", "*": "·", "...": "…"}
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789−", strict=True))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
FUNCTIONS = {"ln", "log", "exp", "cosh", "sinh", "tanh", "max", "min", "sup", "inf", "lim", "clamp", "round"}
PAIRS = {"(": ")", "{": "}", "[": "]"}
TOKEN = re.compile(
    r"\s{2,}|\s|<=|>=|!=|\.\.\.|\d+(?:\.\d+)?|[A-Za-z]+(?:_[a-z]{2,}\b)?|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+|[₀₁₂₃₄₅₆₇₈₉]+|'+|.", re.DOTALL
)
INNER = r"\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\)"  # brackets within brackets within brackets
GROUP = rf"(?:\{{[^{{}}\n]*\}}|[-−]?{INNER}|[-−]?\w+|[∞+])"
BASE = r"(?:[A-Za-zα-ωΑ-ΩŝĈ∫∏]|\d+|sup|max|min)'?"
INLINE = re.compile(
    rf"(?<![A-Za-z_`/.])({BASE}(?:[\^_]{GROUP})+'?)"  # e^x, 2q_i; a path such as a/b_c is none
    rf"|(?<=[/.])({BASE}\^{GROUP})"  # n/2^b
    rf"|(?<=[\])])([\^_]{GROUP})"  # (1 - p)^k and (x)_+, whose base stands before it
)
CODE = re.compile(
    r"(<div class=\"formula\">.*?</div>|```.*?```|`[^`\n]*`|\[[^\]]*\]\([^)\s]*\.(?:md|py|svg)[^)\n]*\))", re.DOTALL
)
PAGES = {f"docs/{name}" for name in ("errata", "guarantee", "interpretation", "sparse_vector", "tutorials/lectures")}
STAMPS = re.compile(r"(?:^- `lapwing[^`\n]*` `[0-9a-f]{16}`\n)+", re.MULTILINE)
INDENTED = re.compile(r"(?<=\n\n)( {4,7}\S[^\n]*\n(?: {4,}\S[^\n]*\n)*)(?=\n|$)")


def set_formulas(_app, name: str, source: list[str]) -> None:
    """Set the formulas of a page before it is read."""
    if name.startswith("proofs/") or name in PAGES:
        source[0] = page(STAMPS.sub(_folded, source[0]))


def _folded(stamps: re.Match[str]) -> str:
    """Fold the fingerprints away: whoever reads the proof wants its claim first."""
    said = "The code that this page is about, with the fingerprint of what was proved"
    return f"<details class='stamps'><summary>{said}</summary>\n\n{stamps[0]}\n</details>\n"


def page(text: str) -> str:
    """Return a page with its formulas in MathML."""
    parts = CODE.split(INDENTED.sub(lambda block: _displayed(block[1]), text))
    return "".join(part if CODE.fullmatch(part) else _inline(part) for part in parts)


def _displayed(block: str) -> str:
    margin = " " * (len(block) - len(block.lstrip(" ")) - 4)  # of the list that it stands in
    lines = (line.strip() for line in block.splitlines())
    rows = "".join(f"<mtr><mtd>{row(line)}</mtd></mtr>" for line in lines)
    return (
        f'{margin}<div class="formula"><math display="block"><mtable columnalign="left">{rows}</mtable></math></div>\n'
    )


def _inline(text: str) -> str:
    """Set what has an index or an exponent, and signs; `[a](b)` in a formula is a product, and not a link."""
    text = re.sub(r"(?<= )[<>!]=(?= )", lambda sign: SIGNS[sign[0]], text.replace("](", "]\\("))
    return INLINE.sub(lambda found: f"<math>{row(found[0], base='<mrow></mrow>')}</math>", text)


def row(text: str, base: str = "") -> str:
    """Return one line of mathematics; what begins with an exponent or an index has this `base`.

    >>> row("e^{-x}")
    '<mrow><msup><mi>e</mi><mrow><mo>−</mo><mi>x</mi></mrow></msup></mrow>'
    """
    atoms: list[str] = [base] if text[:1] in {"^", "_"} and base else []
    tokens = TOKEN.findall(text)
    position = 0
    while position < len(tokens):
        sign = tokens[position]
        if sign in {"^", "_"} and position + 1 < len(tokens) and atoms:
            script, position = _script(tokens, position + 1)
            atoms.append(_attach(atoms.pop(), script, raised=sign == "^"))
            continue
        position += 1
        if sign[0] in RAISED and atoms:
            atoms.append(_attach(atoms.pop(), _number("".join(RAISED[one] for one in sign)), raised=True))
        elif sign[0] in LOWERED and atoms:
            atoms.append(_attach(atoms.pop(), _number("".join(LOWERED[one] for one in sign)), raised=False))
        elif sign[0] == "'" and atoms:
            atoms.append(_attach(atoms.pop(), f"<mo>{'′' * len(sign)}</mo>", raised=True))
        else:
            atoms.extend(_atom(sign))
    return f"<mrow>{''.join(atoms)}</mrow>"


def _number(text: str) -> str:
    return f"<mn>{text}</mn>"


def _attach(base: str, script: str, *, raised: bool) -> str:
    """Return a base with an exponent or an index; with both, they stand over each other."""
    other = "msub" if raised else "msup"
    if base.startswith(f"<{other}>"):
        inner = base.removeprefix(f"<{other}>").removesuffix(f"</{other}>")
        parts = [*_split(inner), script] if raised else [_split(inner)[0], script, _split(inner)[1]]
        return f"<msubsup>{''.join(parts)}</msubsup>"
    kind = "msup" if raised else "msub"
    return f"<{kind}>{base}{script}</{kind}>"


def _split(inner: str) -> tuple[str, str]:
    """Return the two elements that stand side by side."""
    depth = 0
    for tag in re.finditer(r"<(/?)\w+[^>]*?(/?)>", inner):
        depth += 0 if tag[2] else -1 if tag[1] else 1
        if depth == 0:
            return inner[: tag.end()], inner[tag.end() :]
    raise ValueError(inner)


def _script(tokens: list[str], position: int) -> tuple[str, int]:
    """Return what is raised or lowered: a group without its brackets, or one atom with its sign."""
    if (first := tokens[position]) in {"(", "{"}:
        depth, end = 1, position + 1
        while depth and end < len(tokens):
            depth += (tokens[end] == first) - (tokens[end] == PAIRS[first])
            end += 1
        return row("".join(tokens[position + 1 : end - 1])), end
    if first in {"-", "−"}:
        _, end = _script(tokens, position + 1)
        return row("".join(tokens[position:end])), end  # brackets stay: -(m+2) is not -m+2
    return row(first), position + 1


def _atom(sign: str) -> Iterator[str]:
    if sign.isspace():
        if len(sign) > 1:
            yield '<mspace width="2em"/>'
    elif sign[0].isdigit():
        yield _number(sign)
    elif sign in FUNCTIONS:
        yield f'<mi mathvariant="normal">{sign}</mi><mspace width="0.17em"/>'
    elif sign.isalpha() and sign.isascii() and len(sign) > 1:
        yield f'<mspace width="0.25em"/><mtext>{sign}</mtext><mspace width="0.25em"/>'
    elif sign.isalpha() and sign not in "ΣΠ":
        yield f"<mi>{sign}</mi>"
    else:
        shown = html.escape(SIGNS.get(sign, sign))
        yield f'<mo stretchy="false">{shown}</mo>' if sign in "()[]{}|‖" else f"<mo>{shown}</mo>"
