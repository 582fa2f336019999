"""The public tables that lapwing.toml names: vocabularies of their own, and the values of categories.

    [vocabularies]
    concept = "CONCEPT.csv"

    [populations.clinic.tables.conditions.columns]
    concept = { type = "category", values = { file = "CONCEPT.csv", value = "concept_id", label = "concept_name" } }

Nobody may be in such a file: whoever asks may learn all of it. It is fixed as the data is. One that changed is refused
until the custodian says so, because conditions and categories would mean something else without a word.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.queries.column import Category
from lapwing.workspace.toml import Section

if TYPE_CHECKING:
    from lapwing.engines.public_files import PublicFile


@dataclass(frozen=True, slots=True)
class PublicFiles:
    """The public files of a workspace, by what `lapwing advance` calls them."""

    folder: Path
    section: Section
    files: dict[str, Path]

    @staticmethod
    def read(folder: Path, section: Section, files: dict[str, Path]) -> "PublicFiles":
        """Find the files of the vocabularies, and put them among `files`."""
        public = PublicFiles(folder, section, files)
        for name in section.entries:
            given = section.take(name, (str, dict))
            inner = section.section(name) if isinstance(given, dict) else None
            file = given if inner is None else inner.take("file", str)
            if inner is not None:
                inner.done()
            files[name] = public._path(section, name, file)
        return public

    def vocabularies(self) -> "tuple[PublicFile, ...]":
        """Return the vocabularies that conditions may name."""
        return tuple(_public_file(name, self.files[name]) for name in self.section.entries)

    def category(self, section: Section) -> Category:
        """Return the values that a column of a public file holds, and what they are called in another."""
        named, file = section.take("vocabulary", str, None), section.take("file", str, None)
        value, label = section.take("value", str), section.take("label", str, None)
        where = section.take("where", str, None)
        section.done()
        if (named is None) == (file is None):
            raise section.error(
                (), "values come from one place", 'write file = "CONCEPT.csv" or vocabulary = "concept"'
            )
        if named is not None and named not in self.section.entries:
            known = ", ".join(self.section.entries) or "none"
            raise section.error(("vocabulary",), f"there is no vocabulary {named!r}", f"name one of {known}")
        name = named or self._known_as(section, str(file))
        from lapwing.queries.public_values import labelled_values  # noqa: PLC0415 - most workspaces have none
        from lapwing.queries.questions import as_condition  # noqa: PLC0415 - see above

        with section.blamed():
            public = _public_file(Path(name).stem, self.files[name])
            values, labels = labelled_values(public, value, label, as_condition(where))
            return Category(values=values, labels=labels, label_name=label or "label")

    def _known_as(self, section: Section, file: str) -> str:
        """Return what a file is called: as the vocabulary that it is, or as it is written."""
        path = self._path(section, "file", file)
        name = next((name for name, known in self.files.items() if known == path), file)
        self.files[name] = path
        return name

    def _path(self, section: Section, entry: str, file: str) -> Path:
        from lapwing.engines.public_files import SUFFIXES  # noqa: PLC0415 - see above

        path = self.folder / file
        if path.suffix not in SUFFIXES:
            remedy = f"name a file that ends with {', '.join(SUFFIXES)}"
            raise section.error((entry,), f"{file!r} is not a file that can be read", remedy)
        if not path.is_file():
            raise section.error((entry,), f"{file!r} is not there", "mend its place, or bring it back")
        return path


def _public_file(name: str, path: Path) -> "PublicFile":
    from lapwing.engines.public_files import PublicFile  # noqa: PLC0415 - see above

    return PublicFile(name=name, path=path)
