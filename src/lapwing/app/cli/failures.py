"""Failures at the command line: which exit code, which sentence, which JSON. Names and fields here are stable."""

import re
from fractions import Fraction
from typing import Any, Final, TypeAlias

import click

from lapwing.app.cli.spelling import as_typed, message_of
from lapwing.vocabulary.errors import BudgetError, EngineError, LapwingError, LedgerError

EXIT_CODES: Final[dict[type[LapwingError], int]] = {BudgetError: 3, EngineError: 4, LedgerError: 5}
"""What a script can tell failures apart by; whatever is not listed was a bad question, or a bad setting: 2."""


Failure: TypeAlias = LapwingError | click.ClickException | OSError
"""What is told in a sentence. An operating system says what file it could not write; no engine lets its errors out."""


def exit_code(failure: Failure) -> int:
    """Return what the process ends with: 2 question, 3 budget, 4 engine, 5 ledger.

    >>> from lapwing.vocabulary.errors import SuspendedError
    >>> exit_code(SuspendedError("clinic"))
    3
    """
    return next((code for kind, code in EXIT_CODES.items() if isinstance(failure, kind)), 2)


def sentence_of(failure: Failure) -> str:
    """Return what a person reads."""
    if isinstance(failure, EngineError):
        return f"lapwing: {failure}, in failures.log; lapwing budget says whether it was charged"
    if isinstance(failure, LapwingError):
        return f"lapwing: {message_of(failure)}"
    if isinstance(failure, OSError):
        return f"lapwing: {failure.filename or 'this'} cannot be used: {failure.strerror}"
    hint = ""
    if isinstance(failure, click.UsageError) and failure.ctx is not None:
        if isinstance(failure, click.exceptions.NoArgsIsHelpError):
            return failure.ctx.get_help()
        hint = f"\nTry: {failure.ctx.command_path} --help"
        conditions = {"where", "steps"} & {parameter.name for parameter in failure.ctx.command.params}
        if conditions and "unexpected extra argument" in failure.format_message():
            hint = f'\nPut a condition in quotes: --where "age > 3"{hint}'
    return f"lapwing: {failure.format_message()}{hint}"


def failure_record(failure: Failure) -> dict[str, Any]:
    """Return what a program reads: a code, the exit code, the sentence, and the numbers in it.

    >>> from lapwing.vocabulary.errors import SuspendedError
    >>> told = failure_record(SuspendedError("clinic"))["error"]
    >>> told["code"], told["exit"], told["who"]
    ('suspended', 3, 'clinic')
    """
    if isinstance(failure, LapwingError):
        code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(failure).__name__.removesuffix("Error")).lower()
        numbers = {name: _plain(value) for name, value in vars(failure).items() if not name.startswith("_")}
        numbers |= {"remedy": as_typed(numbers["remedy"])} if "remedy" in numbers else {}
        return {"error": {"code": code, "exit": exit_code(failure), "message": message_of(failure), **numbers}}
    if isinstance(failure, OSError):
        return {"error": {"code": "system", "exit": exit_code(failure), "message": sentence_of(failure)}}
    return {"error": {"code": "usage", "exit": exit_code(failure), "message": failure.format_message()}}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Fraction):
        from lapwing.vocabulary.decimals import exactly

        return exactly(value)
    return str(value) if not isinstance(value, float) else f"{value:.17g}"
