"""No float takes part in sampling: the source is read for everything that could make one."""

import ast
import textwrap
from pathlib import Path

import pytest

import lapwing.noise

FILES = sorted(Path(lapwing.noise.__file__).parent.glob("*.py"))
INTEGER_MATH = {"isqrt", "lcm", "gcd"}
NUMPY_ON_INTEGERS = {
    *("uint16", "int16", "int64", "uint64", "bool_", "intp", "integer", "ndarray"),
    *("array", "asarray", "empty", "ones", "frombuffer", "broadcast_to", "concatenate", "resize"),
    *("where", "flatnonzero", "searchsorted", "bincount", "cumsum", "minimum", "maximum"),
    *("bitwise_xor", "less"),
}
ALLOCATORS = {"array", "asarray", "empty", "ones", "frombuffer"}  # they make floats unless they are told a dtype


def floats(tree):
    """Yield every place of `tree` at which a float could arise."""
    for node in ast.walk(tree):
        if in_the_language(node) or in_numpy(node) or in_an_import(node):
            yield ast.unparse(node)


def in_the_language(node):
    match node:
        case ast.Constant(value=float() | complex()):
            return True
        case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
            return True
        case ast.BinOp(op=ast.Pow(), right=exponent):
            return not is_natural(exponent)
        case ast.Name(id="float" | "complex" | "round" | "Decimal"):
            return True
        case _:
            return False


def in_numpy(node):
    match node:
        case ast.Attribute(value=ast.Name(id="np"), attr=attr):
            return attr not in NUMPY_ON_INTEGERS
        case ast.Attribute(attr="mean" | "std" | "var" | "divide" | "true_divide" | "limit_denominator"):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr=attr), args=arguments):
            return attr in ALLOCATORS and len(arguments) < 2
        case _:
            return False


def in_an_import(node):
    match node:
        case ast.Import(names=names):
            return bool({name.name for name in names} & {"math", "cmath", "random", "statistics"})
        case ast.ImportFrom(module="math", names=names):
            return bool({name.name for name in names} - INTEGER_MATH)
        case _:
            return False


def is_natural(exponent):
    """Say whether an exponent is written so that an integer's power is an integer again."""
    names = {"power"}
    return (isinstance(exponent, ast.Constant) and type(exponent.value) is int) or (
        isinstance(exponent, ast.Name | ast.Attribute) and ast.unparse(exponent).split(".")[-1] in names
    )


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_nothing_in_this_folder_can_make_a_float(file) -> None:
    assert not list(floats(ast.parse(file.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(
    "code",
    [
        "scale * 0.5",
        "a / b",
        "a /= b",
        "2 ** -k",
        "float(x)",
        "round(x)",
        "np.exp(x)",
        "np.float64(x)",
        "x.astype(np.float32)",
        "np.empty(5)",
        "np.array([1, 2])",
        "draws.mean()",
        "import math",
        "from math import exp",
        "import random",
    ],
)
def test_the_reader_finds_what_it_looks_for(code) -> None:
    assert list(floats(ast.parse(textwrap.dedent(code))))


def test_all_files_are_read() -> None:
    samplers = {"laws", "decay", "randomness", "strips", "fine_lattice", "coins_and_dice"}
    assert samplers <= {file.stem for file in FILES}
