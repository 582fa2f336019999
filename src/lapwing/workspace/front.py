"""The Python front: `lapwing.open` for analysts and `lapwing.create` for custodians."""

from pathlib import Path

from lapwing.session import Session
from lapwing.workspace.workspace import Workspace, create_workspace, open_workspace


def open(  # noqa: A001 - it is written lapwing.open
    folder: str | Path, population: str | None = None, *, analyst: str | None = None, segment: str | None = None
) -> Session:
    """Open the door of a population, for an analyst.

    Parameters
    ----------
    folder : the workspace
    population : which of its populations; the only one if it is not said
    analyst : who asks; whoever is logged in if it is not said
    segment : the segment of its public partition to ask about, if it has one; everybody if it is not said
    """
    workspace = open_workspace(folder)
    try:
        return workspace.session(population, analyst=analyst, segment=segment, on_close=workspace.close)
    except BaseException:
        workspace.close()
        raise


def create(folder: str | Path, settings: str | None = None) -> Workspace:
    r"""Make a workspace of a folder that has a lapwing.toml, or from the text of one; for custodians.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "patients.csv").write_text("patient_id,age\n1,31\n2,64\n")
    >>> with create(folder, '''
    ... [populations.clinic]
    ... person_key = "patient_id"
    ... budget = { epsilon = "3" }
    ... [populations.clinic.tables.patients]
    ... source = "patients.csv"
    ... columns.age = { type = "integer", low = 0, high = 120 }
    ... ''') as workspace:
    ...     str(workspace.session().standing())
    'epsilon 3'
    """
    return create_workspace(folder, settings)
