# Questions: what is asked, as a server reads it. One builder for each statistic, with the words of Python.
#
# A test of the server compares names, columns and options with its registry of statistics.

statistics <- list(
  count          = c("table", "where", "by", "max_groups"),
  rows           = c("table", "where", "by", "max_rows", "max_groups"),
  distinct       = c("table", "column", "where", "max_groups", "sketch"),
  total          = c("table", "of", "where", "by", "max_rows", "max_groups"),
  mean           = c("table", "of", "where", "by", "max_rows", "max_groups"),
  proportion     = c("table", "of", "where", "by", "max_rows", "max_groups"),
  variance       = c("table", "of", "where", "by", "max_rows", "max_groups"),
  stddev         = c("table", "of", "where", "by", "sample", "max_rows", "max_groups"),
  covariance     = c("table", "x", "y", "where", "by", "max_rows", "max_groups"),
  correlation    = c("table", "x", "y", "where", "by", "max_rows", "max_groups"),
  median         = c("table", "of", "where", "by", "cells", "interval", "max_rows"),
  quantiles      = c("table", "of", "at", "where", "by", "cells", "interval", "max_rows"),
  top            = c("table", "column", "k", "where", "counts", "max_groups"),
  funnel         = c("table", "steps", "where"),
  posterior_draw = c("table", "of", "where", "max_rows")
)

# A question for a statistic by its name; what is NULL is not sent.
lw_question <- function(ask, ...) {
  words <- list(...)
  if (!is_text(ask) || is.null(statistics[[ask]])) {
    bad_parameter("ask", "is no statistic", paste("choose among", paste(names(statistics), collapse = ", ")))
  }
  known <- statistics[[ask]]
  if (length(words) && (is.null(names(words)) || !all(nzchar(names(words))))) {
    bad_parameter("a question", "has a word without a name", paste("name it, as in", known[1L], "="))
  }
  strange <- setdiff(names(words), known)
  if (length(strange)) {
    bad_parameter(strange[1L], paste("is no word of", ask), paste("it takes", paste(known, collapse = ", ")))
  }
  words <- Filter(Negate(is.null), words)
  if (!is_text(words$table)) {
    bad_parameter("table", "is not the name of a table", "lw_columns(session) has their names")
  }
  body <- c(list(ask = ask), Map(as_sent, names(words), words))
  structure(list(body = body), class = "lw_question")
}

as_sent <- function(name, given) {
  switch(name,
    by = lapply(if (inherits(given, "lw_bins")) list(given) else as.list(given), group_of),
    steps = as.list(as.character(given)),
    at = lapply(given, function(one) exact_text("at", one)),
    max_rows = ,
    max_groups = ,
    cells = ,
    sketch = ,
    k = whole_number(name, given),
    counts = ,
    sample = truth(name, given),
    if (is_text(given)) given else if (is.numeric(given)) exact_text(name, given) else
      bad_parameter(name, "is not a text", "write a column, or a condition such as \"age >= 65\"")
  )
}

group_of <- function(one) {
  if (inherits(one, "lw_bins")) unclass(one) else if (is_text(one)) one else
    bad_parameter("by", "is not a column", 'write its name, or lw_bins("age", c(0, 40, 80))')
}

# A column grouped between rising edges.
lw_bins <- function(column, edges) {
  if (!is_text(column) || length(edges) < 2L) {
    bad_parameter("bins", "need a column and two edges or more", 'write lw_bins("age", c(0, 40, 80))')
  }
  texts <- if (is.numeric(edges)) lapply(edges, function(one) exact_text("edges", one)) else as.list(as.character(edges))
  structure(list(column = column, edges = texts), class = "lw_bins")
}

lw_count <- function(table, where = NULL, by = NULL, max_groups = NULL) {
  lw_question("count", table = table, where = where, by = by, max_groups = max_groups)
}

lw_rows <- function(table, where = NULL, by = NULL, max_rows = NULL, max_groups = NULL) {
  lw_question("rows", table = table, where = where, by = by, max_rows = max_rows, max_groups = max_groups)
}

lw_distinct <- function(table, column, where = NULL, max_groups = NULL, sketch = NULL) {
  lw_question("distinct", table = table, column = column, where = where, max_groups = max_groups, sketch = sketch)
}

lw_total <- function(table, of, where = NULL, by = NULL, max_rows = NULL, max_groups = NULL) {
  lw_question("total", table = table, of = of, where = where, by = by, max_rows = max_rows, max_groups = max_groups)
}

lw_mean <- function(table, of, where = NULL, by = NULL, max_rows = NULL, max_groups = NULL) {
  lw_question("mean", table = table, of = of, where = where, by = by, max_rows = max_rows, max_groups = max_groups)
}

lw_proportion <- function(table, of, where = NULL, by = NULL, max_rows = NULL, max_groups = NULL) {
  lw_question(
    "proportion", table = table, of = of, where = where, by = by, max_rows = max_rows, max_groups = max_groups
  )
}

lw_variance <- function(table, of, where = NULL, by = NULL, max_rows = NULL, max_groups = NULL) {
  lw_question("variance", table = table, of = of, where = where, by = by, max_rows = max_rows, max_groups = max_groups)
}

lw_stddev <- function(table, of, where = NULL, by = NULL, sample = NULL, max_rows = NULL, max_groups = NULL) {
  lw_question(
    "stddev", table = table, of = of, where = where, by = by, sample = sample, max_rows = max_rows,
    max_groups = max_groups
  )
}

lw_covariance <- function(table, x, y, where = NULL, by = NULL, max_rows = NULL, max_groups = NULL) {
  lw_question(
    "covariance", table = table, x = x, y = y, where = where, by = by, max_rows = max_rows, max_groups = max_groups
  )
}

lw_correlation <- function(table, x, y, where = NULL, by = NULL, max_rows = NULL, max_groups = NULL) {
  lw_question(
    "correlation", table = table, x = x, y = y, where = where, by = by, max_rows = max_rows, max_groups = max_groups
  )
}

lw_median <- function(table, of, where = NULL, by = NULL, cells = NULL, interval = NULL, max_rows = NULL) {
  lw_question(
    "median", table = table, of = of, where = where, by = by, cells = cells, interval = interval, max_rows = max_rows
  )
}

lw_quantiles <- function(table, of, at, where = NULL, by = NULL, cells = NULL, interval = NULL, max_rows = NULL) {
  lw_question(
    "quantiles", table = table, of = of, at = at, where = where, by = by, cells = cells, interval = interval,
    max_rows = max_rows
  )
}

lw_top <- function(table, column, k, where = NULL, counts = NULL, max_groups = NULL) {
  lw_question("top", table = table, column = column, k = k, where = where, counts = counts, max_groups = max_groups)
}

lw_funnel <- function(table, steps, where = NULL) {
  lw_question("funnel", table = table, steps = steps, where = where)
}

print.lw_question <- function(x, ...) {
  cat("<question:", json_of(x$body), ">\n")
  invisible(x)
}

# The body of what is asked: a question, or the text of a SELECT.
question_body <- function(question, max_rows = NULL, max_groups = NULL) {
  if (inherits(question, "lw_question")) {
    return(question$body)
  }
  if (is_text(question)) {
    beside <- Filter(Negate(is.null), list(max_rows = max_rows, max_groups = max_groups))
    return(c(list(ask = "sql", text = question), Map(whole_number, names(beside), beside)))
  }
  bad_parameter("question", "is no question", 'write one with lw_count("patient"), or a SELECT as text')
}

# What is to be paid, as it is sent.
price_body <- function(epsilon = NULL, delta = NULL, rho = NULL, within = NULL, confidence = NULL, rows = NULL) {
  given <- Filter(Negate(is.null), list(
    epsilon = epsilon, delta = delta, rho = rho, within = within, confidence = confidence
  ))
  sent <- Map(exact_text, names(given), given)
  if (!is.null(rows)) sent$rows <- whole_number("rows", rows)
  if (length(sent)) sent else structure(list(), names = character())
}
