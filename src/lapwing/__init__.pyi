from lapwing.answers.answer import Answer as Answer
from lapwing.answers.preview import Preview as Preview
from lapwing.answers.stream_terms import StreamPreview as StreamPreview
from lapwing.answers.verdicts import StreamAnswer as StreamAnswer
from lapwing.answers.verdicts import Verdict as Verdict
from lapwing.app.clinic.clinic_files import make_clinic as make_clinic
from lapwing.queries.expressions import age as age
from lapwing.queries.expressions import col as col
from lapwing.queries.questions import bins as bins
from lapwing.queries.questions import by_year as by_year
from lapwing.queries.questions import has as has
from lapwing.queries.statistics.counts import at_least as at_least
from lapwing.queries.statistics.counts import count as count
from lapwing.queries.statistics.counts import count_rows as count_rows
from lapwing.queries.statistics.distinct import count_distinct as count_distinct
from lapwing.queries.statistics.funnel import funnel as funnel
from lapwing.queries.statistics.moments import correlation as correlation
from lapwing.queries.statistics.moments import covariance as covariance
from lapwing.queries.statistics.moments import mean as mean
from lapwing.queries.statistics.moments import variance as variance
from lapwing.queries.statistics.quantiles import median as median
from lapwing.queries.statistics.quantiles import quantiles as quantiles
from lapwing.queries.statistics.top import top as top
from lapwing.queries.statistics.total import total as total
from lapwing.session import Session as Session
from lapwing.streams import QuestionStream as QuestionStream
from lapwing.vocabulary.errors import LapwingError as LapwingError
from lapwing.vocabulary.guarantee import Adjacency as Adjacency
from lapwing.vocabulary.guarantee import ApproximateDP as ApproximateDP
from lapwing.vocabulary.guarantee import ConcentratedDP as ConcentratedDP
from lapwing.vocabulary.guarantee import PureDP as PureDP
from lapwing.workspace.workspace import Workspace as Workspace
from lapwing.workspace.workspace import create as create
from lapwing.workspace.workspace import open as open  # noqa: A004 - it is written lapwing.open
from lapwing.workspace.workspace import open_workspace as open_workspace

__version__: str
