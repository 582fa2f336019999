"""What an explorer means, in one digest: its model, and the corridor that checks it."""

from typing import TYPE_CHECKING

from lapwing.publishing.codes import Columns
from lapwing.publishing.explorer_opening import ExplorerPreview
from lapwing.publishing.explorer_terms import ExplorerSplit
from lapwing.publishing.synthesis_again import synthesis_meaning
from lapwing.publishing.synthesis_preview import SynthesisPreview
from lapwing.publishing.synthesize import preview_synthesize
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import BadQuestionError

if TYPE_CHECKING:
    from lapwing.session import AskingSession


def preview_model(
    session: "AskingSession", table: str, columns: Columns | None, told: ExplorerPreview
) -> SynthesisPreview:
    """Return the preview of the model that an explorer would make first."""
    if told.model is None:
        raise BadQuestionError("this explorer has a model already")
    words = ExplorerSplit(model=told.model, checks=told.terms.epsilon).words
    return preview_synthesize(session, table, columns, planned_for="cohorts", **words)


def explorer_meaning(model: SynthesisPreview, told: ExplorerPreview) -> str:
    """Return a digest of the model that is made, of what checks it, and of what both cost."""
    return digest([synthesis_meaning(model.offer), told.terms.to_text()])
