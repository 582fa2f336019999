# Dashboards: counts of people over time, paid once when they are opened, and found by their names for ever.

lw_preview_dashboard <- function(session, name, table, period, first, where = NULL, by = NULL, every = "month",
                                 releases = NULL, last = NULL, until = NULL, epsilon = NULL, delta = NULL, rho = NULL,
                                 within = NULL, confidence = NULL) {
  body <- analysis_body(dashboard_fields, list(
    name = name, table = table, period = period, first = as.character(first), where = where,
    by = if (is.null(by)) NULL else as.list(as.character(by)), every = every,
    releases = if (is.null(releases)) NULL else whole_number("releases", releases),
    last = if (is.null(last)) NULL else as.character(last), until = until,
    price = price_body(epsilon, delta, rho, within, confidence)
  ))
  look_at_rounds(session, "preview_dashboard", body)
}

# Open a dashboard, or go on with the one of this name: then its name is enough.
lw_dashboard <- function(session, name, ...) {
  if (!is_text(name)) bad_parameter("name", "is not a text", "write the name of a dashboard")
  if (!length(list(...))) {
    return(found_dashboard(session, name))
  }
  preview <- lw_preview_dashboard(session, name, ...)
  told <- call_here(session, "open_dashboard", body = meant_body(preview), key = fresh_key())
  as_told("a dashboard", {
    believe_rounds(told, preview)
    read_dashboard(session, told, name, preview$means)
  })
}

found_dashboard <- function(session, name) {
  known <- call_here(session, "dashboards")
  ids <- as_told("dashboards", {
    found <- Filter(function(one) identical(one$dashboard, name), known)
    vapply(found, function(one) {
      stopifnot(is_text(one$id), grepl("^[A-Za-z0-9._~-]{1,128}$", one$id))
      one$id
    }, "")
  })
  if (!length(ids)) bad_parameter("name", "is none of your dashboards", "open it with a table, period and first")
  told <- call_here(session, "dashboard", list(dashboard = ids[[1L]]))
  as_told("a dashboard", read_dashboard(session, told, name, told$means))
}

# Publish the periods that are over and were not published: it was paid when the dashboard was opened.
lw_publish_release <- function(dashboard, today = NULL) {
  if (!inherits(dashboard, "lw_dashboard")) bad_parameter("dashboard", "is none", "open one with lw_dashboard(session, ...)")
  body <- if (is.null(today)) structure(list(), names = character()) else list(today = as.character(today))
  told <- call_operation(
    dashboard$session$connection, "publish_release",
    list(population = dashboard$session$population, dashboard = dashboard$id), body, fresh_key()
  )
  as_told("a dashboard", read_dashboard(dashboard$session, told, dashboard$name, dashboard$means))
}

read_dashboard <- function(session, told, name, means) {
  if (!identical(told$dashboard, name) || !identical(told$means, means)) disagree("it tells of another dashboard")
  stopifnot(is_text(told$id), grepl("^[A-Za-z0-9._~-]{1,128}$", told$id), is_whole(told$published, 0, told$releases))
  structure(class = "lw_dashboard", list(
    session = session, id = told$id, name = name, means = means, price = price_of(told$price),
    published = told$published, releases = told$releases, periods = readable(told$periods),
    cumulative = counts_frame(told$counts$cumulative, told$by), single = counts_frame(told$counts$single, told$by)
  ))
}

counts_frame <- function(told, by) {
  if (is.null(told)) told <- list()
  for (one in told) stopifnot(is.numeric(one$margin), one$margin >= 0, length(one$group) == length(by))
  keys <- lapply(seq_along(by), function(i) simple(lapply(told, function(one) one$group[[i]])))
  names(keys) <- vapply(by, readable, "")
  people <- vapply(told, function(one) a_number(one$estimate), 0)
  margin <- vapply(told, function(one) a_number(one$margin), 0)
  until <- vapply(told, function(one) readable(one$until), "")
  numbers <- list(until = until, people = people, people_low = people - margin, people_high = people + margin)
  as.data.frame(c(keys, numbers), optional = TRUE, stringsAsFactors = FALSE)
}

as.data.frame.lw_dashboard <- function(x, row.names = NULL, optional = FALSE, counts = "cumulative", ...) {
  if (!identical(counts, "cumulative") && !identical(counts, "single")) {
    bad_parameter("counts", "are none of a dashboard", 'write "cumulative" or "single"')
  }
  x[[counts]]
}

print.lw_dashboard <- function(x, ...) {
  cat("<dashboard ", x$name, ": ", x$periods, ", ", x$published, " of ", x$releases, " published>\n", sep = "")
  if (nrow(x$cumulative)) print(x$cumulative, row.names = FALSE)
  invisible(x)
}
