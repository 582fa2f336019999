"""How the pages of this repository become a site: `make docs`. Every warning is an error.

The pages are the Markdown files where they stand (README, docs, proofs): nothing is copied, so what is read on the
site is what runs in the tests. Only the index and the references of names, commands and operations
are made here; words lead to the glossary by themselves.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "site"))

import commands_page  # noqa: E402 - it lies beside this file
import docstrings  # noqa: E402 - see above
import glossary_links  # noqa: E402 - see above
import mathematics  # noqa: E402 - see above
import names_page  # noqa: E402 - see above
import operations_page  # noqa: E402 - see above

import lapwing  # noqa: E402 - see above

project = "lapwing"
author = "the engineers of lapwing"
copyright = "the engineers of lapwing"  # noqa: A001 - Sphinx wants this name
release = version = lapwing.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
root_doc = "site/index"
include_patterns = ["site/**.md", "docs/**.md", "proofs/*.md", "*.md"]
exclude_patterns = ["site/_build"]
source_suffix = {".md": "markdown"}

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "deflist", "tasklist"]
suppress_warnings = ["myst.xref_ambiguous"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
add_module_names = False
default_role = "code"

html_theme = "furo"
html_title = "lapwing"
html_favicon = "../src/lapwing/doors/server/pages/static/mark.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_additional_pages = {"index": "index.html"}  # the front page is where a browser looks for it
templates_path = ["templates"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
pygments_style = "friendly"


def setup(app):
    """Write the pages that follow from code before anything is read."""
    commands_page.write(ROOT / "site" / "commands.md")
    names_page.write(ROOT / "site" / "names.md")
    operations_page.write(ROOT / "site" / "operations.md")
    app.connect("source-read", mathematics.set_formulas)
    app.connect("source-read", list_neighbours)
    app.connect("source-read", name_pages_of_folders)
    app.connect("source-read", close_examples)
    app.connect("source-read", show_without_colours)
    app.connect("source-read", lead_to_pages)
    app.connect("autodoc-process-docstring", docstrings.process)
    app.connect("env-get-outdated", glossary_links.forget)
    app.connect("doctree-read", glossary_links.collect)
    app.connect("doctree-resolved", glossary_links.link)


def list_neighbours(_app, name, source):
    """Give the index of the proofs and that of the decisions their pages, which the tables on them name already."""
    if name in {"proofs/README", "docs/decisions/README"}:
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def name_pages_of_folders(_app, _name, source):
    """Lead from a folder, which a reader of the repository opens, to a page or file in it."""
    source[0] = re.sub(r"\]\(((?:\.\./)*)proofs/?\)", r"](\1proofs/README.md)", source[0])
    source[0] = re.sub(r"\]\(((?:\.\./)*)examples/?\)", r"](\1examples/cohort_size.py)", source[0])


def close_examples(_app, _name, source):
    """Take the empty line away with which an example ends: doctest wants it, a reader does not."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)


def show_without_colours(_app, _name, source):
    """Show as plain text what older colourers do not know the language of."""
    source[0] = source[0].replace("```haproxy\n", "```text\n")


def lead_to_pages(_app, name, source):
    """Lead to a page that is named as a file: `proofs/laplace.md`, and among proofs `laplace.md`."""

    def link(found: re.Match[str]) -> str:
        file = found[1] if "/" in found[1] else f"{Path(name).parent}/{found[1]}"
        return f"[{found[0]}](/{file})" if (ROOT / file).is_file() else found[0]

    source[0] = re.sub(r"(?<![\[`])`((?:[a-z]+/)*\w+\.md)`(?!\])", link, source[0])
