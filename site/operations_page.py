"""The reference of the server, from the table that serves: an operation that is there is on the page."""

import json
from pathlib import Path

from lapwing.doors.server.calls import API, Operation
from lapwing.doors.server.openapi import describe
from lapwing.doors.server.operations import OPERATIONS

BEGINNING = """# Every operation of the server

What a program may do at a server, from the table that its routes are made of. How operations go together is told in
[the server](../docs/server.md). Programs show who they are by `Authorization: Bearer TOKEN`. What *may charge* needs an
`Idempotency-Key`: the same key is the same request, charged once and answered alike. To whoever may not call an
operation, it is not there (404). Every refusal is an object `error` with a `code`, a `message` and the numbers in it.
"""
ANYBODY = "whoever comes, without a token"
_ANY = 2**53


def write(file: Path) -> None:
    """Write the page, unless it says the same already."""
    described = json.loads(describe(OPERATIONS))
    schemas = described["components"]["schemas"]
    bodies = [f"## Bodies\n\n{_bodies(schemas)}"]
    sections = [_section(one, described["paths"][API + one.path][one.method.lower()]) for one in OPERATIONS]
    text = "\n".join([BEGINNING, _overview(), *sections, *bodies])
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def _overview() -> str:
    rows = [f"| [{one.name}](#{one.name.replace('_', '-')}) | {one.summary} | {_who(one)} |" for one in OPERATIONS]
    return "\n".join(["| operation | does | who |", "|---|---|---|", *rows, ""])


def _who(one: Operation) -> str:
    return ANYBODY if one.roles is None else ", ".join(sorted(one.roles))


def _section(one: Operation, described: dict) -> str:
    lines = [f"## {one.name}\n", f"{one.summary}\n", f"```text\n{one.method} {API}{one.path}\n```\n"]
    facts = {
        "who": _who(one),
        "right of the token": "none" if one.roles is None else one.right.value,
        "may charge": "yes, under an idempotency key" if one.charges else "no",
        "in the address": ", ".join(f"`{name}` from {_range(*ends)}" for name, ends in one.query.items()),
        "body": _body(described),
        "statuses": ", ".join(sorted(described["responses"])),
    }
    lines += ["| | |", "|---|---|", *(f"| {name} | {fact} |" for name, fact in facts.items() if fact), ""]
    return "\n".join(lines)


def _range(low: int, high: int) -> str:
    return f"{low} to {high:,}" if high < _ANY else f"{low} on"


def _body(described: dict) -> str:
    if "requestBody" not in described:
        return ""
    return _kind(next(iter(described["requestBody"]["content"].values()))["schema"])


def _kind(schema: dict) -> str:
    """Return what may stand in a place, in a few words."""
    match schema:
        case {"$ref": place}:
            name = place.rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"anyOf": kinds} | {"oneOf": kinds}:
            return ", or ".join(dict.fromkeys(_kind(one) for one in kinds))
        case {"enum": values}:
            return ", or ".join(f"`{json.dumps(one)}`" for one in values)
        case {"const": value}:
            return f"`{json.dumps(value)}`"
        case {"type": "array", "items": dict(inner)}:
            return f"a list of {_kind(inner)}"
        case {"type": "object", "additionalProperties": dict(inner)}:
            return f"by name, {_kind(inner)}"
        case {"type": kind}:
            words = {"integer": "a whole number", "number": "a number", "string": "text", "array": "a list"}
            return words.get(
                kind, {"boolean": "true or false", "null": "nothing", "object": "an object"}.get(kind, kind)
            )
        case _:
            return "anything"


def _bodies(schemas: dict) -> str:
    parts = []
    for name, schema in sorted(schemas.items()):
        required = set(schema.get("required", ()))
        said = schema.get("description", "").strip().partition("\n\n")[0].replace("\n", " ")
        rows = [
            f"| `{field}` | {_kind(kind).replace('|', chr(92) + '|')} | {'yes' if field in required else ''} |"
            for field, kind in schema.get("properties", {}).items()
        ]
        table = ["| field | holds | must be there |", "|---|---|---|", *rows] if rows else [_kind(schema)]
        parts.append("\n".join([f"### {name}\n", *([f"{said}\n"] if said else []), *table, ""]))
    return "\n".join(parts)
