# Synthetic tables: rows of made-up people, from noisy tables of the real ones; as many rows as one likes, for nothing.

lw_preview_synthesize <- function(session, table, columns = NULL, up_to = NULL, planned_for = NULL, epsilon = NULL,
                                  delta = NULL, rho = NULL, within = NULL, confidence = NULL) {
  body <- analysis_body(synthesis_fields, list(
    table = table, columns = if (is.null(columns)) NULL else columns_body(columns),
    up_to = if (is.null(up_to)) NULL else whole_number("up_to", up_to), planned_for = planned_for,
    price = price_body(epsilon, delta, rho, within, confidence)
  ))
  look_at_rounds(session, "preview_synthesis", body)
}

lw_synthesize <- function(session, table, columns = NULL, up_to = NULL, planned_for = NULL, epsilon = NULL, delta = NULL,
                          rho = NULL, within = NULL, confidence = NULL, key = NULL) {
  preview <- lw_preview_synthesize(
    session, table, columns, up_to, planned_for,
    epsilon = epsilon, delta = delta, rho = rho, within = within, confidence = confidence
  )
  key <- key_of(key)
  told <- call_here(session, "synthesize", body = meant_body(preview), key = key)
  as_told("a synthetic table", {
    believe_rounds(told, preview)
    stopifnot(identical(told$table, table), is_whole(told$people, 0), length(told$columns) >= 1L)
    announced <- vapply(preview$told$columns, function(one) readable(one$name), "")
    names <- vapply(told$columns, readable, "")
    if (!identical(names, announced)) disagree("it made a table of other columns than it said")
    believe_released(told$released)
    structure(class = "lw_synthetic", list(
      session = session, key = key, columns = names, people = told$people, price = preview$price, free = told$free,
      avoid = vapply(told$quality$avoid, function(one) paste(unlist(one), collapse = " x "), ""),
      pairs = rows_of(told$quality$pairs, list(
        columns = function(one) paste(vapply(one, readable, ""), collapse = " x "), basis = readable, at_most = a_number
      ))
    ))
  })
}

# Rows of made-up people, as many as there are people if nothing is said; the same seed gives the same rows.
lw_synthetic_rows <- function(made, rows = NULL, seed = 0) {
  if (!inherits(made, "lw_synthetic")) bad_parameter("made", "is no synthetic table", "make one with lw_synthesize(...)")
  query <- list(seed = whole_number("seed", seed))
  if (!is.null(rows)) query$rows <- whole_number("rows", rows)
  text <- call_text(
    made$session$connection, "synthetic_rows", list(population = made$session$population, key = made$key), query
  )
  frame <- as_told("rows", {
    utils::read.csv(text = text, check.names = FALSE, colClasses = "character", na.strings = "", encoding = "UTF-8")
  })
  if (!identical(names(frame), made$columns) || (!is.null(rows) && nrow(frame) != rows)) {
    disagree("it gives other rows than those that were wanted")
  }
  frame[] <- lapply(frame, function(one) utils::type.convert(readable_all(one), as.is = TRUE))
  frame
}

readable_all <- function(texts) gsub("\\p{C}", " ", enc2utf8(texts), perl = TRUE)

as.data.frame.lw_synthetic <- function(x, row.names = NULL, optional = FALSE, rows = NULL, seed = 0, ...) {
  lw_synthetic_rows(x, rows, seed)
}

print.lw_synthetic <- function(x, ...) {
  cat("<synthetic table of ", x$people, " made-up people: ", paste(x$columns, collapse = ", "), ">\n", sep = "")
  cat("how far two columns together are off at most, as a share of people:\n")
  print(x$pairs, row.names = FALSE)
  if (length(x$avoid)) cat("avoid   ", paste(x$avoid, collapse = "; "), "\n", sep = "")
  cat("cost    ", if (x$free) "nothing, it was made before" else price_text(x$price), "\n", sep = "")
  invisible(x)
}
