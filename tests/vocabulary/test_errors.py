"""What is raised on purpose survives the way to another process, with everything that it says."""

import copy
import pickle
from fractions import Fraction

import pytest

from lapwing import errors
from lapwing.vocabulary.wording import Message, Setting

BOTH = Message("offer ", Setting("epsilon", "0.1"), " and no more")
KINDS = {getattr(errors, name) for name in errors.__all__}
PLAIN = {kind for kind in KINDS if kind.__init__ is errors.LapwingError.__init__}
RAISED = [
    *(kind("it is so; ", Setting("delta", 0)) for kind in sorted(PLAIN, key=lambda kind: kind.__name__)),
    errors.ParameterError("epsilon", Fraction(-1), reason="is below zero", remedy=BOTH),
    errors.RequestConflictError("k", seq=3),
    errors.BudgetExceededError(
        asked=Fraction(1, 3),
        left=Fraction(1, 7),
        currency="epsilon",
        remedies=("ask for less", "wait"),
        fits=Fraction(1, 8),
    ),
    errors.PolicyError("most", reason="it is too dear", remedy="ask for less"),
    errors.SuspendedError("clinic"),
    errors.UnnamedAnalystError("ana", "clinic"),
    errors.StreamHaltedError(yeses=3),
    errors.StreamClosedError("s"),
    errors.StreamBusyError("s", number=4),
    errors.LedgerDurabilityError("fsync", "off", remedy="switch it on"),
    errors.LedgerDamagedError("is another", seq=5),
    errors.LedgerRolledBackError("it was longer", seq=9, last=8),
    errors.UnansweredError("k", seq=3, lost=True),
    errors.EngineError(),
    errors.UnavailableError(),
    errors.ServerError("nobody is there", remedy="ask later", status=503),
    errors.DisagreementError("it means something else", remedy="ask nothing"),
    errors.RegistrationError("patients", reason="has no source", remedy="name its file"),
    errors.SettingsError("lapwing.toml", 7, reason="says nothing", remedy=BOTH),
    errors.MissingExtraError("psycopg", extra="postgres"),
]


def test_every_kind_is_tried() -> None:
    assert {type(error) for error in RAISED} == KINDS


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.code)
def test_an_error_survives_a_process_and_a_copy(error) -> None:
    pickled = (pickle.loads(pickle.dumps(error, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1))
    for again in (*pickled, copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert (again.args, vars(again)) == (error.args, vars(error))
        assert (again.to_dict(), again.settings) == (error.to_dict(), error.settings)


def test_what_survived_can_still_say_more() -> None:
    (refused,) = (error for error in RAISED if isinstance(error, errors.BudgetExceededError))
    again = pickle.loads(pickle.dumps(refused))
    assert str(again.about(whose="Ada")) == str(refused.about(whose="Ada"))


def test_an_analyst_may_read_what_holds_no_path_and_no_business_of_the_custodian() -> None:
    told = {kind for kind in KINDS if kind.for_analysts}
    kept = (errors.LedgerError, errors.RegistrationError, errors.SettingsError, errors.MissingExtraError)
    assert {errors.PolicyError, errors.BudgetExceededError, errors.StreamBusyError, errors.EngineError} <= told
    assert {kind for kind in told if issubclass(kind, kept)} == {errors.UnansweredError}
    assert not {errors.SecrecyError, errors.RandomnessError, errors.LapwingError} & told


def test_a_notebook_shows_one_sentence() -> None:
    assert errors.BadQuestionError("there is no 'x'; write y")._render_traceback_() == [
        "BadQuestionError: there is no 'x'; write y"
    ]
