"""The one style of all pictures, and how they are written: SVG or PNG, the same bytes for the same numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lapwing.vocabulary.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS: Final = (".svg", ".png")
INK, ACCENT, SECOND, QUIET = "#22313f", "#0f766e", "#c2410c", "#94a3b8"
"""Colours of text, of the main series, of the one it is compared with, and of lines for orientation."""
STYLE: Final = {
    "figure.figsize": (7.2, 4.2),
    "figure.dpi": 120,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": True,
    "grid.color": "#e2e8f0",
    "legend.frameon": False,
    "svg.hashsalt": "lapwing",
}


@contextmanager
def canvas(path: str | Path, *, title: str, x: str, y: str) -> "Iterator[Axes]":
    """Draw on what this gives, and find it in the file, .svg or .png, afterwards.

    The title is the one thing that the picture says, as a sentence; `x` and `y` are what the axes measure.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "line.svg"
    >>> with canvas(file, title="A line rises", x="time (days)", y="height") as axes:
    ...     _ = axes.plot([0, 1], [0, 1])
    >>> file.stat().st_size > 1000
    True
    """
    file = checked_path(path)
    from matplotlib import rc_context  # noqa: PLC0415 - half a second, and an extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    with rc_context(STYLE):  # type: ignore[arg-type]  # the stubs list every key by name
        figure = Figure(layout="constrained")
        axes = figure.add_subplot()
        axes.set(title=title, xlabel=x, ylabel=y)
        yield axes
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else {})


def put_label(axes: "Axes", text: str, at: tuple[float, float], by: tuple[int, int], **style: Any) -> None:
    """Write a text at a point, moved to the right and up by an offset in points."""
    axes.annotate(text, at, xytext=by, textcoords="offset points", **style)


def checked_path(path: str | Path) -> Path:
    """Return where to write a picture; refuse what is not a place or not a format for one, before any work is done."""
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise ParameterError("plot", str(path), reason="is neither .svg nor .png", remedy="name it funnel.svg, say")
    if not file.parent.is_dir():
        remedy = f"mkdir -p {file.parent} first"
        raise ParameterError("plot", str(path), reason="is in a folder that is not there", remedy=remedy)
    if find_spec("matplotlib") is None:
        remedy = "pip install 'lapwing[plots]', or leave it out"
        raise ParameterError("plot", str(path), reason="needs matplotlib", remedy=remedy)
    return file


def checked_folder(path: str | Path) -> Path:
    """Return where to write several pictures, made if it is not there; a name that looks like a file's is refused.

    >>> checked_folder("regions.pdf")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: plot = 'regions.pdf' looks like a file, and neither .svg nor .png; name a
    folder without a dot, or one that is there
    """
    folder = Path(path)
    if folder.suffix and not folder.is_dir():
        picture = folder.suffix.lower() in FORMATS
        reason = "looks like one file" if picture else "looks like a file, and neither .svg nor .png"
        remedy = "name a folder without a dot, or one that is there"
        raise ParameterError("plot", str(path), reason=reason, remedy=remedy)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
