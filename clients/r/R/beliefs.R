# What is believed of a server, and what is not.
#
# This client does not plan questions by itself, as the one of Python does: what a question means here, the server says
# in its preview, in a sentence and in a canonical text. The price is held against the one that was named, the text
# against the dictionary and the price, and every answer against the preview.

read_preview <- function(told, body) {
  stopifnot(is_text(told$question), is_text(told$asked), is.list(told$price), is.list(told$margin))
  stopifnot(is_truth(told$stored), is_truth(told$affordable), is_text(told$confidence), length(told$margin) >= 1L)
  structure(class = "lw_preview", list(
    question = told$question, asked = readable(told$asked), bounding = readable(told$bounding),
    price = price_of(told$price), margin = margins_of(told$margin), confidence = told_amount(told$confidence),
    stored = told$stored, affordable = told$affordable,
    refusal = if (is.null(told$refusal)) NULL else readable(told$refusal),
    left_afterwards = told_amount(told$left_afterwards$rounded), body = body
  ))
}

price_of <- function(told) {
  one <- list(epsilon = told$epsilon, delta = told$delta, rho = told$rho)
  stopifnot(!is.null(one$delta), !is.na(told_amount(one$delta)))
  stopifnot(is.null(one$epsilon) || !is.na(told_amount(one$epsilon)))
  stopifnot(is.null(one$rho) || !is.na(told_amount(one$rho)))
  stopifnot(!is.null(one$epsilon) || !is.null(one$rho))
  one
}

margins_of <- function(told) {
  stopifnot(!is.null(names(told)))
  vapply(told, told_amount, 0)
}

same_price <- function(one, other) {
  same_amount(one$epsilon, other$epsilon) && same_amount(one$delta, other$delta)
}

price_text <- function(price) {
  if (!is.null(price$epsilon)) {
    delta <- if (told_amount(price$delta) > 0) paste0(", delta ", price$delta) else ""
    paste0("epsilon ", readable(price$epsilon), delta)
  } else {
    paste0("rho ", format(told_amount(price$rho), digits = 4))
  }
}

believe_preview <- function(session, preview) {
  wanted <- preview$body$price
  believe_price(preview, wanted)
  if (!is.null(wanted$confidence) && !same_amount(preview$confidence, wanted$confidence)) {
    disagree("it says an error with another confidence")
  }
  if (!is.null(wanted$within)) {
    known <- preview$margin[!is.na(preview$margin)]
    if (any(known > told_amount(wanted$within) * (1 + 1e-9))) disagree("it says an error larger than what was asked for")
  }
  plans <- plans_of(preview$question)
  table <- if (is.null(preview$body$question)) preview$body$table else preview$body$question$table
  for (plan in plans) believe_plan(session, plan, table)
  if (length(plans) == 1L) believe_event(plans[[1L]]$event, preview$price)
  invisible(preview)
}

# The price that was named is the price: as an epsilon, or, where the budget counts in rho, as no more than it means.
believe_price <- function(preview, wanted) {
  price <- preview$price
  other <- "it asks another price than the one that was named"
  if (!is.null(wanted$rho)) {
    if (is.null(price$rho) || told_amount(price$rho) > told_amount(wanted$rho) * (1 + 1e-9)) disagree(other)
  }
  if (is.null(wanted$epsilon)) {
    return(invisible())
  }
  epsilon <- told_amount(wanted$epsilon)
  if (!is.null(price$epsilon)) {
    if (!same_amount(price$epsilon, epsilon)) disagree(other)
    most <- if (is.null(wanted$delta)) 0 else told_amount(wanted$delta)
    if (told_amount(price$delta) > most * (1 + 1e-9)) disagree(other)
  } else if (is.null(wanted$delta) && told_amount(price$rho) > epsilon^2 / 2 * (1 + 1e-9)) {
    disagree(other)
  }
}

plans_of <- function(text) {
  plans <- tryCatch(jsonlite::parse_json(text), error = function(failure) NULL)
  if (!is.list(plans) || !length(plans) || !all(vapply(plans, is.list, TRUE))) {
    disagree("it says no canonical text of the question")
  }
  plans
}

# The parts of a canonical text that say about whom it is: those of the dictionary.
believe_plan <- function(session, plan, table) {
  asked <- plan$question
  if (!is.list(asked) || is.null(asked$unit)) {
    return(invisible())
  }
  unit <- session$dictionary$unit
  here <- identical(asked$population, session$population) && identical(asked$unit[sort(names(unit))], unit[sort(names(unit))])
  if (!here) disagree("it means other people, or protects them otherwise than it said")
  aggregate <- asked$aggregate
  if (is.list(aggregate)) {
    if (!same_amount(aggregate$salt, session$dictionary$salt)) disagree("it means other people than it said")
    if (!is.null(table) && is_text(aggregate$table) && !identical(aggregate$table, table)) {
      disagree("it means another table")
    }
  }
}

# One release of Laplace noise costs its sensitivity divided by its scale.
believe_event <- function(event, price) {
  if (!is.list(event) || !identical(event$kind, "discrete-laplace-noise") || is.null(price$epsilon)) {
    return(invisible())
  }
  means <- told_amount(event$l1_sensitivity) / told_amount(event$scale)
  if (!same_amount(means, price$epsilon)) disagree("its noise is not that of its price")
}

receipt_of <- function(told) {
  if (!is_text(told) || !grepl("^lapwing:[0-9a-f]{16}:[1-9][0-9]{0,18}:[0-9a-f]{64}$", told)) {
    disagree("it gives no receipt")
  }
  told
}

read_answer <- function(session, told, preview, rehearsal = FALSE) {
  given <- told$answer
  stopifnot(is.list(given), is_truth(given$rehearsal), is_truth(given$free), is.list(given$rows))
  if (!identical(told$question, preview$question)) preview <- paid_before(session, told, preview)
  believe_answer(session, given, preview, rehearsal)
  believe_released(told$released)
  structure(class = "lw_answer", list(
    frame = frame_of(given, names(preview$margin)), asked = preview$asked, bounding = preview$bounding,
    price = preview$price, margin = preview$margin, confidence = preview$confidence,
    cut = vapply(given$cut, function(one) {
      stopifnot(is_text(one))
      readable(one)
    }, ""),
    cut_table = if (is.null(given$cut_table)) NULL else readable(given$cut_table),
    columns = names(preview$margin), keys = vapply(given$keys, readable, ""), free = given$free, rehearsal = rehearsal,
    receipt = if (rehearsal) NULL else receipt_of(given$receipt)
  ))
}

# Where a budget has a delta, a question can be paid in two ways. One that was paid in the other way before is free, and
# its answer has the error of that way: it must be the same question but for its noise, and keep what was asked for.
paid_before <- function(session, told, preview) {
  if (!is_text(told$question) || !same_but_for_noise(told$question, preview$question) || !told$answer$free) disagree("it answered another question, or at another price")
  preview$question <- told$question
  preview$price <- price_of(told$answer$price)
  preview$margin <- margins_of(told$answer$margin)
  believe_preview(session, preview)
}

same_but_for_noise <- function(one, other) {
  without_noise <- function(text) lapply(plans_of(text), function(plan) plan[setdiff(names(plan), "event")])
  identical(without_noise(one), without_noise(other))
}

believe_answer <- function(session, given, preview, rehearsal) {
  if (rehearsal && !(given$rehearsal && given$free && is.null(given$receipt) && !length(given$versions))) {
    disagree("it does not say that what it tells is made up")
  }
  if (!rehearsal && given$rehearsal) disagree("it tells made-up numbers, and was asked about people")
  if (!same_price(price_of(given$price), preview$price)) disagree("it says another price than that of the question")
  if (!identical(names(given$margin), names(preview$margin)) || !identical(unlist(given$columns), names(preview$margin))) {
    disagree("it answers with other columns than it said")
  }
  known <- !is.na(preview$margin) # that of a mean is known when it is answered
  same <- isTRUE(all.equal(margins_of(given$margin)[known], preview$margin[known]))
  if (!same || !same_amount(given$confidence, preview$confidence)) disagree("it says another error than before")
  if (!rehearsal) {
    receipt_of(given$receipt)
    about <- unique(unlist(lapply(plans_of(preview$question), function(plan) plan$question$aggregate$table)))
    told <- names(given$versions)
    if (!length(told) || !all(about %in% told) || !all(told %in% session$dictionary$tables)) {
      disagree("it tells of other tables than the question is about")
    }
    if (!all(vapply(given$versions, is_whole, TRUE, least = 1))) disagree("it tells no versions of the data")
  }
}

# Released numbers are whole, and not larger than any that could be released.
believe_released <- function(told) {
  stopifnot(is.list(told))
  numbers <- Filter(is.numeric, unlist(told, recursive = TRUE, use.names = FALSE))
  stopifnot(all(is.finite(unlist(numbers))), all(abs(unlist(numbers)) <= 2^160))
}
