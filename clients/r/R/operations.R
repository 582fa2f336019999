# What this client asks of a server: the names, methods and paths of its table of operations.
#
# A test of the server compares each with the operation of the same name there.

api <- "/api/v1"

operations <- list(
  me                  = c("GET", "/me"),
  populations         = c("GET", "/populations"),
  population          = c("GET", "/populations/{population}"),
  budget              = c("GET", "/populations/{population}/budget"),
  preview             = c("POST", "/populations/{population}/previews"),
  ask                 = c("POST", "/populations/{population}/questions"),
  ask_many            = c("POST", "/populations/{population}/batches"),
  rehearse            = c("POST", "/populations/{population}/rehearsals"),
  preview_stream      = c("POST", "/populations/{population}/stream-previews"),
  open_stream         = c("POST", "/populations/{population}/streams"),
  stream              = c("GET", "/populations/{population}/streams/{stream}"),
  ask_stream          = c("POST", "/populations/{population}/streams/{stream}/questions"),
  ask_stream_many     = c("POST", "/populations/{population}/streams/{stream}/batches"),
  close_stream        = c("DELETE", "/populations/{population}/streams/{stream}"),
  preview_publication = c("POST", "/populations/{population}/publication-previews"),
  publish             = c("POST", "/populations/{population}/publications"),
  preview_comparison  = c("POST", "/populations/{population}/comparison-previews"),
  compare             = c("POST", "/populations/{population}/comparisons"),
  preview_survival    = c("POST", "/populations/{population}/survival-previews"),
  estimate_survival   = c("POST", "/populations/{population}/survivals"),
  preview_rows        = c("POST", "/populations/{population}/rows-a-person-previews"),
  rows_a_person       = c("POST", "/populations/{population}/rows-a-person"),
  preview_regression  = c("POST", "/populations/{population}/regression-previews"),
  regress             = c("POST", "/populations/{population}/regressions"),
  preview_dashboard   = c("POST", "/populations/{population}/dashboard-previews"),
  dashboards          = c("GET", "/populations/{population}/dashboards"),
  open_dashboard      = c("POST", "/populations/{population}/dashboards"),
  dashboard           = c("GET", "/populations/{population}/dashboards/{dashboard}"),
  publish_release     = c("POST", "/populations/{population}/dashboards/{dashboard}/releases"),
  preview_synthesis   = c("POST", "/populations/{population}/synthesis-previews"),
  synthesize          = c("POST", "/populations/{population}/syntheses"),
  synthetic_rows      = c("GET", "/populations/{population}/syntheses/{key}/rows"),
  preview_explorer    = c("POST", "/populations/{population}/explorer-previews"),
  open_explorer       = c("POST", "/populations/{population}/explorers"),
  guess_explorer      = c("POST", "/populations/{population}/explorers/{key}/guesses"),
  ask_explorer        = c("POST", "/populations/{population}/explorers/{key}/counts"),
  close_explorer      = c("DELETE", "/populations/{population}/explorers/{key}")
)

price_fields <- c("epsilon", "delta", "rho", "within", "confidence", "rows")

stream_fields <- c(
  "at_least", "yeses", "epsilon", "within", "confidence", "questions", "table", "number",
  "total", "proportion", "correlation", "max_rows"
)

publication_fields <- c("table", "columns", "marginals", "price", "rows", "non_negative", "whole", "means")

comparison_fields <- c("table", "outcome", "by", "where", "method", "groups", "assume", "price", "means")

survival_fields <- c("table", "time", "event", "grid", "by", "where", "price", "means")

rows_fields <- c("table", "where", "up_to", "price", "means")

regression_fields <- c("table", "formula", "model", "where", "assume", "price", "means")

dashboard_fields <- c(
  "name", "table", "period", "first", "where", "by", "every", "releases", "last", "until", "price", "means"
)

synthesis_fields <- c("table", "columns", "up_to", "planned_for", "price", "means")

explorer_fields <- c(
  "table", "columns", "epsilon", "delta", "rho", "checks", "yeses", "questions", "half_width", "confidence", "means"
)
