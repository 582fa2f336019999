"""Small mistakes, one at a time: what a tired hand would write instead of a piece of code.

Mistakes are made where something is computed or decided. What only tells (texts, errors, annotations) is left alone,
and so are lines that say that no test reaches them, the lengths that `zip` is told to compare, and allowances for
round-off, which are too small for tests to see.
"""

import ast
import copy
import hashlib
import itertools
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
OPPOSITES = (("min", "max"), ("any", "all"), ("floor", "ceil"), ("ADD_REMOVE", "REPLACE"))
NAMES = {name: other for pair in OPPOSITES for name, other in (pair, pair[::-1])}

TELLING = 25
"""How many characters say where they stand; shorter code is shown with what is around it."""
MARKS = {"fault_point"}
"""Calls that only mark a place, where a test of crashes lets the process end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One mistake in one piece of a file: the node with the number `place` there is written in another way.

    What names it, `title`, holds no line, so that it stays the same when code moves.
    """

    path: Path
    piece: str
    place: int
    variant: int
    line: int
    before: str
    after: str

    @property
    def title(self) -> str:
        """The piece of code, and what stands in it instead of what."""
        return f"{self.piece}: {self.before} -> {self.after}"

    def source_tree(self, source: str) -> ast.Module:
        """Return the file with the mistake in it."""
        tree = ast.parse(source)
        piece = dict(pieces(tree))[self.piece]
        node = _nodes(piece, source.splitlines())[self.place]
        wrong = next(itertools.islice(_mistakes(node), self.variant, None))
        return ast.fix_missing_locations(_Replacing(node, wrong).visit(tree))


def mutants(path: Path, source: str, only: Container[str] | None = None) -> dict[str, list[Mutant]]:
    """Return every mistake that can be made in a file, for each of its pieces, or for some of them only."""
    lines = source.splitlines()
    wanted = (one for one in pieces(ast.parse(source)) if only is None or one[0] in only)
    return {name: list(_of_piece(path, name, piece, lines)) for name, piece in wanted}


def drawn(possible: Sequence[Sequence[Mutant]], seed: int) -> Iterator[Mutant]:
    """Draw mistakes without end of choice: one from each piece of code in random order, then a second from each, ...

    A mistake has its place in the order by what names it, so that code which changes elsewhere moves it by little.
    """
    shuffled = [sorted(some, key=lambda one: _lot(seed, one.path, one.title)) for some in possible if some]
    shuffled.sort(key=lambda some: _lot(seed, some[0].path, some[0].piece))
    for turn in itertools.zip_longest(*shuffled):
        yield from filter(None, turn)


def _lot(seed: int, path: Path, name: str) -> bytes:
    return hashlib.sha256(f"{seed} {path} {name}".encode()).digest()


def pieces(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Find functions and methods that compute or decide, and the tables of the file, each with its name.

    A number with a name, such as a limit or how many terms are added up, is a choice: one more or less is allowed.
    """
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name, body=body):
                inside = [one for one in body if isinstance(one, ast.FunctionDef) and not _tells(one)]
                yield from ((f"{name}.{one.name}", one) for one in inside)
            case ast.FunctionDef(name=name) if not _tells(node):
                yield name, node
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                if isinstance(value, ast.Set | ast.Dict | ast.Tuple):
                    yield name, node


def _tells(function: ast.FunctionDef) -> bool:
    kind = ast.unparse(function.returns) if function.returns else ""
    return kind == "str" or kind.endswith("Error")


def _of_piece(path: Path, name: str, piece: ast.AST, lines: Sequence[str]) -> Iterator[Mutant]:
    around = {id(child): node for node in ast.walk(piece) for child in ast.iter_child_nodes(node)}
    for place, node in enumerate(_nodes(piece, lines)):
        line = getattr(node, "lineno", getattr(piece, "lineno", 1))
        shown = node
        while isinstance(shown, ast.expr) and len(_said(shown)) < TELLING:
            shown = around[id(shown)]
        for variant, wrong in enumerate(_mistakes(node)):
            before, after = _said(shown), _said(_put(shown, node, wrong))
            if before != after:
                yield Mutant(path=path, piece=name, place=place, variant=variant, line=line, before=before, after=after)


def _put(value: Any, node: ast.AST, wrong: ast.AST) -> Any:
    if value is node:
        return wrong
    if isinstance(value, list):
        return [_put(one, node, wrong) for one in value]
    if isinstance(value, ast.AST):
        return _with(value, **{name: _put(inner, node, wrong) for name, inner in ast.iter_fields(value)})
    return value


def _said(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).strip().splitlines()
    return text[0] + (f" ... {text[-1].strip()}" if isinstance(node, ast.For) else "")


def _nodes(node: ast.AST, lines: Sequence[str]) -> list[ast.AST]:
    """List what can be written wrongly in a piece of code, in the order of the text."""
    line = getattr(getattr(node, "pattern", node), "lineno", 0)
    if line and "pragma: no cover" in lines[line - 1]:
        return []
    match node:
        case ast.BinOp(left=left, right=right) if "ROUND_OFF" in ast.unparse(right):
            return _nodes(left, lines)
        case ast.JoinedStr() | ast.keyword(arg="reason" | "remedy" | "strict") | ast.Raise() | ast.Assert():
            inner: list[ast.AST] = []
        case ast.FunctionDef(args=arguments, body=body):
            inner = [*filter(None, (*arguments.defaults, *arguments.kw_defaults)), *body]
        case ast.AnnAssign(value=value):
            inner = [value] if value is not None else []
        case _:
            inner = list(ast.iter_child_nodes(node))
    return [node, *(one for child in inner for one in _nodes(child, lines))]


def _mistakes(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.expr():
            yield from _in_expression(node)
        case ast.If(test=test):
            yield from (_with(node, test=ast.Constant(value)) for value in (True, False) if not _is(test, value))
        case ast.For(body=body):
            yield _with(node, body=[*body, ast.Break()])
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in MARKS:
            pass
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.AugAssign(target=target, op=op, value=value):
            if type(op) in ARITHMETIC:
                yield _with(node, op=ARITHMETIC[type(op)]())
            yield ast.Assign(targets=[target], value=value)
        case ast.comprehension(ifs=conditions) if conditions:
            yield _with(node, ifs=[])
        case ast.match_case(guard=guard) if guard is not None:
            yield _with(node, guard=ast.Constant(value=True))


def _in_expression(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare() | ast.BinOp() | ast.BoolOp():
            yield from _in_operation(node)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=inner) | ast.Call(func=ast.Name(id="abs"), args=[inner]):
            yield inner
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.Constant(value=value):
            yield from (ast.Constant(other) for other in _constants(value))
        case ast.Name(id=name) if name in NAMES:
            yield _with(node, id=NAMES[name])
        case ast.Attribute(attr=name) if name in NAMES:
            yield _with(node, attr=NAMES[name])
        case ast.Set(elts=elements):
            yield from (ast.Set(elements[:at] + elements[at + 1 :]) for at in range(len(elements)) if elements[1:])


def _in_operation(node: ast.Compare | ast.BinOp | ast.BoolOp) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                yield from (_with(node, ops=[*ops[:at], other(), *ops[at + 1 :]]) for other in COMPARISONS[type(op)])
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in ARITHMETIC:
                yield _with(node, op=ARITHMETIC[type(op)]())
            if isinstance(op, ast.Add | ast.Sub | ast.Mult):
                yield left
            if isinstance(op, ast.Add | ast.Mult):
                yield right
        case ast.BoolOp(op=op, values=values):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            for at in range(len(values)):
                rest = values[:at] + values[at + 1 :]
                yield _with(node, values=rest) if len(rest) > 1 else rest[0]


def _constants(value: object) -> tuple[object, ...]:
    match value:
        case bool():
            return (not value,)
        case int():
            return (value + 1, value - 1)
        case float():
            return (value * 2, value / 2)
    return ()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is(node: ast.AST, value: bool) -> bool:  # noqa: FBT001 - the value that is looked for
    return isinstance(node, ast.Constant) and node.value is value


class _Replacing(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else super().generic_visit(node)
