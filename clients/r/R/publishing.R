# Publications: many tables of people in one release, each a data frame with its bounds.

lw_preview_publish <- function(session, table, columns, marginals = "all pairs", epsilon = NULL, delta = NULL,
                               rho = NULL, within = NULL, confidence = NULL, rows = NULL) {
  body <- publication_body(table, columns, marginals, price_body(epsilon, delta, rho, within, confidence), rows)
  told <- call_here(session, "preview_publication", body = body)
  preview <- as_told("a publication", {
    stopifnot(is_text(told$means), grepl("^[0-9a-f]{64}$", told$means), is.list(told$sets), length(told$sets) >= 1L)
    sets <- lapply(told$sets, function(one) {
      stopifnot(length(one$columns) >= 1L, is.numeric(one$sd), one$sd > 0)
      list(columns = vapply(one$columns, readable, ""), sd = one$sd)
    })
    list(
      means = told$means, price = price_of(told$price), sets = sets, margin = told_amount(told$margin),
      confidence = told_amount(told$confidence), affordable = isTRUE(told$affordable),
      refusal = if (is.null(told$refusal)) NULL else readable(told$refusal), stored = isTRUE(told$stored), body = body
    )
  })
  believe_price(preview, body$price)
  if (!is.null(within) && !is.na(preview$margin) && preview$margin > told_amount(body$price$within) * (1 + 1e-9)) {
    disagree("it says an error larger than what was asked for")
  }
  structure(preview, class = "lw_publication_preview")
}

publication_body <- function(table, columns, marginals, price, rows = NULL) {
  if (!is_text(table) || !is.character(columns) || !length(columns)) {
    bad_parameter("columns", "are no columns", 'write c("sex", "bins(age, 0, 40, 80)"), with or without names')
  }
  wanted <- if (is_text(marginals)) marginals else unname(lapply(marginals, function(one) as.list(as.character(one))))
  strata <- if (is.null(rows)) NULL else list(rows = lapply(rows, function(one) whole_number("rows", one)))
  c(list(table = table, columns = columns_body(columns), marginals = wanted, price = price), strata)
}

# Columns, bins of them, or conditions, with names where the vector has some.
columns_body <- function(columns) {
  if (!is.character(columns) || !length(columns)) {
    bad_parameter("columns", "are no columns", 'write c("sex", "bins(age, 0, 40, 80)"), with or without names')
  }
  lapply(seq_along(columns), function(i) {
    name <- names(columns)[i]
    c(list(by = columns[[i]]), if (!is.null(name) && nzchar(name)) list(name = name))
  })
}

lw_publish <- function(session, table, columns, marginals = "all pairs", epsilon = NULL, delta = NULL, rho = NULL,
                       within = NULL, confidence = NULL, rows = NULL, non_negative = FALSE, whole = FALSE,
                       key = NULL) {
  preview <- lw_preview_publish(
    session, table, columns, marginals,
    epsilon = epsilon, delta = delta, rho = rho, within = within, confidence = confidence, rows = rows
  )
  body <- c(preview$body, list(
    non_negative = truth("non_negative", non_negative), whole = truth("whole", whole), means = list(preview$means)
  ))
  told <- call_here(session, "publish", body = body, key = key_of(key))
  as_told("a publication", read_publication(told, preview, shaped = non_negative || whole))
}

read_publication <- function(told, preview, shaped) {
  if (!identical(told$means, preview$means) || !same_price(price_of(told$price), preview$price)) {
    disagree("it published something else, or asks another price")
  }
  if (!identical(told$table, preview$body$table) || length(told$tables) != length(preview$sets)) {
    disagree("it published other tables than it said")
  }
  stopifnot(is_truth(told$free), same_amount(told$confidence, preview$confidence))
  tables <- Map(function(one, set) table_frame(one, set, told$codes, shaped), told$tables, preview$sets)
  names(tables) <- vapply(preview$sets, function(set) paste(set$columns, collapse = " x "), "")
  structure(class = "lw_publication", list(
    tables = tables, price = preview$price, confidence = preview$confidence, free = told$free,
    remark = if (is.null(told$remark)) NULL else readable(told$remark), receipt = receipt_of(told$receipt)
  ))
}

# One table: a row for each cell, the last column running first; every number with the bounds of its noise.
table_frame <- function(one, set, codes, shaped) {
  if (!identical(vapply(one$columns, readable, ""), set$columns) || !same_amount(one$sd, set$sd)) {
    disagree("it published other tables than it said, or with other noise")
  }
  cells <- lapply(set$columns, function(name) vapply(codes[[name]], readable, ""))
  keys <- rev(expand.grid(rev(stats::setNames(cells, set$columns)), stringsAsFactors = FALSE, KEEP.OUT.ATTRS = FALSE))
  people <- vapply(one$people, as.numeric, 0)
  low <- vapply(one$low, as.numeric, 0)
  high <- vapply(one$high, as.numeric, 0)
  stopifnot(length(people) == nrow(keys), length(low) == nrow(keys), length(high) == nrow(keys), all(is.finite(people)))
  stopifnot(all(low <= high), is.numeric(one$margin), one$margin > 0)
  if (!shaped) {
    off <- abs(low - pmax(people - one$margin, 0)) + abs(high - pmax(people + one$margin, 0))
    if (any(off > 1e-6 * (1 + abs(people)))) disagree("it tells other bounds than those of its noise")
  }
  cbind(keys, data.frame(people = people, people_low = low, people_high = high))
}

as.data.frame.lw_publication <- function(x, row.names = NULL, optional = FALSE, table = 1L, ...) {
  x$tables[[table]]
}

print.lw_publication_preview <- function(x, ...) {
  cat("cost   ", if (x$stored) "nothing, it was published before" else price_text(x$price), "\n", sep = "")
  for (one in x$sets) {
    cat("table  ", paste(one$columns, collapse = " x "), ": a cell within ", format(2 * one$sd, digits = 3),
      " in 95 of 100 cases\n", sep = "")
  }
  if (!x$affordable && !is.null(x$refusal)) cat("refused ", x$refusal, "\n", sep = "")
  invisible(x)
}

print.lw_publication <- function(x, ...) {
  for (name in names(x$tables)) {
    cat(name, "\n")
    print(utils::head(x$tables[[name]], 12L), row.names = FALSE)
    if (nrow(x$tables[[name]]) > 12L) cat("... ", nrow(x$tables[[name]]), " cells\n", sep = "")
  }
  cat("cost    ", if (x$free) "nothing, it was published before" else price_text(x$price), "\n", sep = "")
  cat("receipt ", x$receipt, "\n", sep = "")
  invisible(x)
}
