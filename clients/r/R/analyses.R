# Analyses: groups compared, survival, how many rows people have, regressions. Each is looked at first, and is paid under
# the meaning of what was looked at; what is believed of a question is believed of them.

lw_preview_compare <- function(session, table, outcome, by, where = NULL, groups = NULL, method = NULL, assume = NULL,
                               epsilon = NULL, delta = NULL, rho = NULL, within = NULL, confidence = NULL) {
  price <- price_body(epsilon, delta, rho, within, confidence)
  body <- analysis_body(comparison_fields, list(
    table = table, outcome = outcome, by = by, where = where, groups = if (is.null(groups)) NULL else as.list(groups),
    method = method, assume = assumed_of(assume), price = price
  ))
  look_at(session, "preview_comparison", body)
}

lw_compare <- function(session, table, outcome, by, where = NULL, groups = NULL, method = NULL, epsilon = NULL,
                       delta = NULL, rho = NULL, within = NULL, confidence = NULL, key = NULL) {
  preview <- lw_preview_compare(
    session, table, outcome, by, where, groups, method,
    epsilon = epsilon, delta = delta, rho = rho, within = within, confidence = confidence
  )
  told <- call_here(session, "compare", body = meant_body(preview), key = key_of(key))
  as_told("a comparison", {
    believe_analysis(told, preview)
    frame <- rows_of(told$groups, list(group = readable, people = a_number, value = a_number, low = a_number, high = a_number))
    in_order(frame$low, frame$value, frame$high)
    found <- analysis_of(told, preview, frame)
    found$p <- share_told(told$p)
    found$difference <- a_number(told$difference)
    found$interval <- vapply(if (is.null(told$interval)) list(NULL, NULL) else told$interval, a_number, 0)
    found
  })
}

lw_preview_survival <- function(session, table, time, event, grid, by = NULL, where = NULL, epsilon = NULL, delta = NULL,
                                rho = NULL, within = NULL, confidence = NULL) {
  body <- analysis_body(survival_fields, list(
    table = table, time = time, event = event, grid = lapply(grid, function(one) whole_number("grid", one)), by = by,
    where = where, price = price_body(epsilon, delta, rho, within, confidence)
  ))
  look_at(session, "preview_survival", body)
}

lw_survival <- function(session, table, time, event, grid, by = NULL, where = NULL, epsilon = NULL, delta = NULL,
                        rho = NULL, within = NULL, confidence = NULL, key = NULL) {
  preview <- lw_preview_survival(
    session, table, time, event, grid, by, where,
    epsilon = epsilon, delta = delta, rho = rho, within = within, confidence = confidence
  )
  told <- call_here(session, "estimate_survival", body = meant_body(preview), key = key_of(key))
  as_told("survival curves", {
    believe_analysis(told, preview)
    found <- analysis_of(told, preview, do.call(rbind, lapply(told$curves, curve_frame, grid = grid)))
    found$p <- if (is.null(told$p)) NULL else share_told(told$p)
    found
  })
}

curve_frame <- function(one, grid) {
  numbers <- lapply(one[c("times", "survived", "low", "high", "at_risk", "events")], function(told) vapply(told, as.numeric, 0))
  stopifnot(identical(numbers$times, as.numeric(grid[-1L])), lengths(numbers) == length(numbers$times))
  stopifnot(numbers$low >= 0, numbers$high <= 1)
  in_order(numbers$low, numbers$survived, numbers$high)
  frame <- data.frame(time = numbers$times, survived = numbers$survived, survived_low = numbers$low,
    survived_high = numbers$high, at_risk = numbers$at_risk, events = numbers$events)
  if (is.null(one$arm)) frame else cbind(arm = readable(one$arm), frame)
}

lw_preview_rows_a_person <- function(session, table, where = NULL, up_to = NULL, epsilon = NULL, delta = NULL,
                                     rho = NULL, within = NULL, confidence = NULL) {
  body <- analysis_body(rows_fields, list(
    table = table, where = where, up_to = if (is.null(up_to)) NULL else whole_number("up_to", up_to),
    price = price_body(epsilon, delta, rho, within, confidence)
  ))
  look_at(session, "preview_rows", body)
}

# How many rows people have, and what each of some max_rows cuts: its data frame has a row for each.
lw_rows_a_person <- function(session, table, where = NULL, up_to = NULL, epsilon = NULL, delta = NULL, rho = NULL,
                             within = NULL, confidence = NULL, key = NULL) {
  preview <- lw_preview_rows_a_person(
    session, table, where, up_to,
    epsilon = epsilon, delta = delta, rho = rho, within = within, confidence = confidence
  )
  told <- call_here(session, "rows_a_person", body = meant_body(preview), key = key_of(key))
  as_told("how many rows people have", {
    believe_analysis(told, preview)
    frame <- rows_of(told$cuts, list(max_rows = a_number, share = share_told, low = share_told, high = share_told))
    in_order(frame$low, frame$share, frame$high)
    found <- analysis_of(told, preview, frame)
    found$enough <- rows_of(told$enough, list(share = told_amount, max_rows = a_number))
    people <- list(first = a_number, last = a_number, people = a_number, low = a_number, high = a_number)
    found$people <- rows_of(told$spans, people)
    in_order(found$people$low, found$people$people, found$people$high)
    found
  })
}

lw_preview_regress <- function(session, table, formula, model = "linear", where = NULL, assume = NULL, epsilon = NULL,
                               delta = NULL, rho = NULL, confidence = NULL) {
  if (inherits(formula, "formula")) formula <- paste(deparse(formula, width.cutoff = 500L), collapse = " ")
  body <- analysis_body(regression_fields, list(
    table = table, formula = formula, model = model, where = where, assume = assumed_of(assume),
    price = price_body(epsilon, delta, rho, NULL, confidence)
  ))
  look_at_rounds(session, "preview_regression", body)
}

lw_regress <- function(session, table, formula, model = "linear", where = NULL, assume = NULL, epsilon = NULL,
                       delta = NULL, rho = NULL, confidence = NULL, key = NULL) {
  preview <- lw_preview_regress(
    session, table, formula, model, where, assume,
    epsilon = epsilon, delta = delta, rho = rho, confidence = confidence
  )
  told <- call_here(session, "regress", body = meant_body(preview), key = key_of(key))
  as_told("a regression", {
    believe_rounds(told, preview)
    stopifnot(is_truth(told$settled), identical(told$table, preview$body$table), identical(told$model, model))
    columns <- list(
      term = readable, estimate = a_number, low = a_number, high = a_number, p = share_told, noise_share = a_number
    )
    frame <- rows_of(told$coefficients, columns)
    in_order(frame$low, frame$estimate, frame$high)
    structure(class = "lw_analysis", list(
      frame = frame, settled = told$settled, people = a_number(told$people), price = preview$price, free = told$free,
      sentence = paste0(readable(told$formula), if (told$settled) "" else ": it did not settle, do not trust it")
    ))
  })
}

# The words of an analysis that say something, as they are sent.
analysis_body <- function(fields, words) {
  words <- Filter(Negate(is.null), words)
  stopifnot(names(words) %in% fields)
  for (name in setdiff(names(words), c("price", "assume", "groups", "grid", "up_to", "by", "columns", "releases"))) {
    if (!is_text(words[[name]])) bad_parameter(name, "is not a text", "write a name, or a condition")
  }
  words
}

# What is supposed, never from the data: list(people = c(500, 500), shares = c(0.10, 0.16)).
assumed_of <- function(assume) {
  if (is.null(assume)) {
    return(NULL)
  }
  lapply(assume, function(given) {
    told <- lapply(given, function(one) exact_text("assume", one))
    if (length(told) == 1L) told[[1L]] else told
  })
}

# An analysis of one question: its preview is that of the question.
look_at <- function(session, operation, body) {
  told <- call_here(session, operation, body = body)
  preview <- as_told("a preview", read_preview(told, body))
  preview$power <- if (is.null(told$power)) NULL else as_told("a power", share_told(told$power))
  preview$means <- digest_of(preview$question)
  believe_preview(session, preview)
}

# An analysis of several rounds: the server says a digest of what it means.
look_at_rounds <- function(session, operation, body) {
  told <- call_here(session, operation, body = body)
  preview <- as_told("a preview", {
    stopifnot(is_text(told$means), grepl("^[0-9a-f]{64}$", told$means), is_truth(told$affordable))
    list(
      means = told$means, price = price_of(told$price), affordable = told$affordable, stored = isTRUE(told$stored),
      refusal = if (is.null(told$refusal)) NULL else readable(told$refusal), told = told, body = body
    )
  })
  believe_price(preview, body$price)
  structure(preview, class = "lw_rounds_preview")
}

meant_body <- function(preview) c(preview$body, list(means = list(preview$means)))

believe_analysis <- function(told, preview) {
  stopifnot(is_truth(told$free), is_text(told$sentence), is_text(told$question))
  if (!identical(told$question, preview$question)) {
    if (!told$free || !same_but_for_noise(told$question, preview$question)) {
      disagree("it answered another question, or at another price")
    }
  } else if (!same_price(price_of(told$price), preview$price)) {
    disagree("it says another price than that of the question")
  }
  believe_released(told$released)
}

believe_rounds <- function(told, preview) {
  stopifnot(is_truth(told$free))
  if (!identical(told$means, preview$means) || !same_price(price_of(told$price), preview$price)) {
    disagree("it did something else, or at another price")
  }
}

analysis_of <- function(told, preview, frame) {
  structure(class = "lw_analysis", list(
    frame = frame, sentence = readable(told$sentence), price = price_of(told$price), free = told$free,
    asked = preview$asked, receipt = receipt_of(told$receipt)
  ))
}

# Records as a data frame: a column for each name, read by what stands beside it.
rows_of <- function(told, columns) {
  stopifnot(is.list(told))
  read <- lapply(names(columns), function(name) {
    simple(lapply(told, function(one) {
      stopifnot(name %in% names(one))
      columns[[name]](one[[name]])
    }))
  })
  as.data.frame(stats::setNames(read, names(columns)), stringsAsFactors = FALSE)
}

a_number <- function(told) {
  if (is.null(told)) {
    return(NA_real_)
  }
  stopifnot(is.numeric(told), length(told) == 1L, is.finite(told))
  as.numeric(told)
}

share_told <- function(told) {
  number <- a_number(told)
  stopifnot(!is.na(number), number >= 0, number <= 1)
  number
}

in_order <- function(low, value, high) {
  known <- !is.na(low) & !is.na(value) & !is.na(high)
  if (any(low[known] > value[known]) || any(value[known] > high[known])) disagree("it tells a value outside its bounds")
}

as.data.frame.lw_analysis <- function(x, row.names = NULL, optional = FALSE, ...) x$frame

print.lw_analysis <- function(x, ...) {
  cat(x$sentence, "\n\n", sep = "")
  print(x$frame, row.names = FALSE)
  cat("\ncost    ", if (x$free) "nothing, it was asked before" else price_text(x$price), "\n", sep = "")
  if (!is.null(x$receipt)) cat("receipt ", x$receipt, "\n", sep = "")
  invisible(x)
}

print.lw_rounds_preview <- function(x, ...) {
  cat("cost    ", if (x$stored) "nothing, it was asked before" else price_text(x$price), "\n", sep = "")
  if (!x$affordable && !is.null(x$refusal)) cat("refused ", x$refusal, "\n", sep = "")
  cat("paid    nothing: this is a preview, and no data was read\n")
  invisible(x)
}
