from lapwing.analyses import compare as _compare
from lapwing.analyses import dashboard as _dashboard
from lapwing.analyses import estimate as _estimate
from lapwing.analyses import regress as _regress
from lapwing.analyses import rows_a_person as _rows
from lapwing.analyses import survival as _survival
from lapwing.graphs import network as _graphs
from lapwing.learning import train as _learning
from lapwing.procedures import decision_tree as _trees
from lapwing.procedures import k_means as _k_means
from lapwing.procedures import principal_components as _components
from lapwing.procedures import sample_count as _samples
from lapwing.publishing import certificate as _certificate
from lapwing.publishing import explorer_opening as _explorer
from lapwing.publishing import publish as _publishing
from lapwing.publishing import synthesize as _synthesis

VERBS: dict[str, str]
ONLY_ASKING: frozenset[str]
STUDIES: frozenset[str]

class AskingGuests:
    compare = _compare.compare
    preview_compare = _compare.preview_compare
    preview_survival = _survival.preview_survival
    preview_rows_a_person = _rows.preview_rows_a_person
    rows_a_person = _rows.rows_a_person
    survival = _survival.survival
    decision_tree = _trees.decision_tree
    graph = _graphs.graph
    k_means = _k_means.k_means
    preview_decision_tree = _trees.preview_decision_tree
    preview_k_means = _k_means.preview_k_means
    preview_principal_components = _components.preview_principal_components
    preview_sample_count = _samples.preview_sample_count
    principal_components = _components.principal_components
    sample_count = _samples.sample_count
    preview_train = _learning.preview_train
    train = _learning.train

class Guests(AskingGuests):
    preview_regress = _regress.preview_regress
    regress = _regress.regress
    dashboard = _dashboard.dashboard
    estimate = _estimate.estimate
    preview_estimate = _estimate.preview_estimate
    preview_dashboard = _dashboard.preview_dashboard
    certify = _certificate.certify
    explorer = _explorer.explorer
    preview_certify = _certificate.preview_certify
    preview_explorer = _explorer.preview_explorer
    preview_publish = _publishing.preview_publish
    publish = _publishing.publish
    load_synthetic = _synthesis.load_synthetic
    preview_synthesize = _synthesis.preview_synthesize
    synthesize = _synthesis.synthesize
