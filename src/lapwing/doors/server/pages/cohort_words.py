"""The sentence that says who is meant, in plain words: panels joined so that nothing can be read in two ways."""

from markupsafe import Markup

from lapwing.doors.server.pages.cohort_document import SAME, CohortDraft, CohortPanel, Criterion, Limit, Near
from lapwing.doors.server.pages.dictionary import Dictionary, Field, Source
from lapwing.doors.server.pages.page_words import Messages
from lapwing.vocabulary.frozen import frozen


@frozen(kw_only=False)
class Phrase:
    """A panel in words, and whether it leaves people out."""

    text: Markup
    out: bool
    several: bool


def phrases_of(cohort: CohortDraft, dictionary: Dictionary, say: Messages) -> list[Phrase]:
    """Return the panels in words, those that leave people out last."""
    panels = sorted(cohort.spoken, key=lambda panel: not panel.include)
    return [phrase_of(panel, dictionary, say) for panel in panels]


def phrase_of(panel: CohortPanel, dictionary: Dictionary, say: Messages) -> Phrase:
    """Return one panel in words."""
    told = [_criterion(one, dictionary, say) for one in panel.criteria]
    several = len(told) > 1
    text = say("cohort.either", any=say("cohort.or").join(told)) if several else told[0]
    return Phrase(text, not panel.include, several)


def sentence_of(cohort: CohortDraft, dictionary: Dictionary, say: Messages) -> Markup:
    """Return the whole sentence, with what matters in it marked."""
    phrases = phrases_of(cohort, dictionary, say)
    ins = [say("cohort.marked", text=one.text) for one in phrases if not one.out]
    outs = [say("cohort.marked", text=one.text) for one in phrases if one.out]
    if not phrases:
        return say("cohort.everybody")
    grouped = any(one.several for one in phrases if not one.out)
    told = say("cohort.people_with", who=_joined(ins, say, grouped=grouped)) if ins else say("cohort.people")
    if outs:
        told += say("cohort.leaving_out", who=say("cohort.or_with").join(outs))
    return told + "."


def step_of(panel: CohortPanel, dictionary: Dictionary, say: Messages) -> str:
    """Return one panel as the label of a step of a funnel, with its sign."""
    phrase = phrase_of(panel, dictionary, say)
    return str(say("cohort.step_out" if phrase.out else "cohort.step_in", who=phrase.text).unescape())


def _joined(parts: list[Markup], say: Messages, *, grouped: bool) -> Markup:
    """Join what must all hold; by semicolons where a part holds an "or" of its own."""
    if len(parts) == 1:
        return parts[0]
    between, last = ("cohort.semicolon", "cohort.semicolon_and") if grouped else ("cohort.comma", "cohort.and")
    return say(between).join(parts[:-1]) + say(last) + parts[-1]


def _criterion(criterion: Criterion, dictionary: Dictionary, say: Messages) -> Markup:
    if not criterion.is_event:
        field = dictionary.field(criterion.of)
        return say("cohort.unknown") if field is None else _column(field, criterion.limit(field.name), say)
    source = dictionary.source(criterion.of)
    if source is None:
        return say("cohort.unknown")
    limits = [(field, criterion.limit(field.name)) for field in source.fields]
    parts = [_column(field, one, say) for field, one in limits if not one.is_empty]
    if criterion.age_low or criterion.age_high:
        parts.append(say("cohort.aged", range=_range(criterion.age_low, criterion.age_high, say)))
    if criterion.near is not None:
        parts.append(_near(criterion.near, source, dictionary, say))
    head = say("cohort.entry", n=criterion.times, table=source.title)
    return head + (say("cohort.inside", parts=say("cohort.comma").join(parts)) if parts else Markup())


def _near(near: Near, source: Source, dictionary: Dictionary, say: Messages) -> Markup:
    other = dictionary.source(near.of)
    if other is None:
        return say("cohort.unknown")
    limits = [(field, near.limit(field.name)) for field in other.fields]
    parts = [_column(field, one, say) for field, one in limits if not one.is_empty]
    inside = say("cohort.inside", parts=say("cohort.comma").join(parts)) if parts else Markup()
    what = say("cohort.entry", n=1, table=other.title) + inside
    if near.order == SAME:
        same = dictionary.same(source, other)
        return say("cohort.unknown") if same is None else say("cohort.near.same", table=same[1].title, what=what)
    return say(f"cohort.near.{near.order}", days=near.days, what=what)


def _column(field: Field, limit: Limit, say: Messages) -> Markup:
    told: list[Markup] = []
    if limit.values and field.kind == "boolean":
        told += [say(f"answer.{'yes' if value == 'true' else 'no'}") for value in limit.values]
    elif limit.values:
        named = [say("cohort.value", value=field.called(value)) for value in limit.values]
        told += [say("cohort.with_kinds", value=one) for one in named] if limit.kinds else named
    if limit.low or limit.high:
        told.append(_range(limit.low, limit.high, say, days=field.kind == "date"))
    if limit.unknown:
        told.append(say("cohort.not_known"))
    value = say("cohort.or_plain").join(told) if told else say("cohort.nothing_said")
    return say("cohort.is_yes" if field.kind == "boolean" else "cohort.is", column=field.title, value=value)


def _range(low: str, high: str, say: Messages, *, days: bool = False) -> Markup:
    kind = "cohort.days" if days else "cohort.range"
    if low and high:
        return say(f"{kind}.same", low=low) if low == high else say(f"{kind}.both", low=low, high=high)
    return say(f"{kind}.low", low=low) if low else say(f"{kind}.high", high=high)
