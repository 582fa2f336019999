"""The reference of the command line, from the commands themselves: what `--help` says is what stands on the page."""

from pathlib import Path

import click

from lapwing.doors.cli import main

BEGINNING = """# Every command

What `lapwing COMMAND --help` prints. How commands work together is told in [the command line](../docs/command_line.md).
"""


def write(file: Path) -> None:
    """Write the page, unless it says the same already."""
    text = "\n".join([BEGINNING, *_sections(main, click.Context(main, info_name="lapwing"))])
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def _sections(group: click.Group, context: click.Context) -> list[str]:
    sections = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = click.Context(command, info_name=name, parent=context, terminal_width=80, max_content_width=80)
        sections.append(f"## {inner.command_path}\n\n```text\n{command.get_help(inner)}\n```\n")
        if isinstance(command, click.Group):
            sections += _sections(command, inner)
    return sections
