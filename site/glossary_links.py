"""Leads from the first use of a word on a page to what the glossary says of it.

Headings, code and links are left alone. Pointing at the word shows the meaning.
"""

from docutils import nodes
from glossary_words import Words, place_of, words_of

GLOSSARY = "docs/glossary"
NOT_READ = {GLOSSARY, "site/index", "site/names", "site/commands", "site/operations", "CHANGELOG"}
"""Pages that are lists themselves."""
APART = (nodes.title, nodes.literal, nodes.literal_block, nodes.reference, nodes.raw, nodes.math, nodes.comment)


def collect(app, document) -> None:
    """Keep what the glossary explains, and give each row a place to lead to."""
    if app.env.docname != GLOSSARY:
        return
    app.env.glossary_words = {}
    for row in document.findall(nodes.row):
        cells = [one.astext() for one in row.children]
        if isinstance(row.parent, nodes.thead) or len(cells) < 2:  # noqa: PLR2004 - a word and its meaning
            continue
        for word in words_of(cells[0]):
            if word not in app.env.glossary_words:
                row.children[0]["ids"].append(place_of(word))
                app.env.glossary_words[word] = " ".join(cells[1].split())


def forget(_app, env, _added, _changed, _removed) -> list[str]:
    """Read the glossary anew each time: what it explains is not kept between builds."""
    return [GLOSSARY] if GLOSSARY in env.found_docs else []


def link(app, document, page: str) -> None:
    """Lead from the first use of each word to the glossary."""
    meanings = getattr(app.env, "glossary_words", {})
    if page in NOT_READ or not meanings:
        return
    home, words = app.builder.get_relative_uri(page, GLOSSARY), Words(meanings)
    for text in list(document.findall(nodes.Text)):
        if not _is_apart(text):
            said, pieces, last = text.astext(), [], 0
            for start, end, word in words.first_uses(said):
                place = f"{home}#{place_of(word)}"
                shown = nodes.reference(
                    "", said[start:end], refuri=place, reftitle=meanings[word], internal=True, classes=["glossary"]
                )
                pieces += [nodes.Text(said[last:start]), shown]
                last = end
            if pieces:
                text.parent.replace(text, [*pieces, nodes.Text(said[last:])])


def _is_apart(text) -> bool:
    node = text.parent
    while node is not None:
        if isinstance(node, APART) or "toctree-wrapper" in node.get("classes", ()):
            return True
        node = node.parent
    return False
