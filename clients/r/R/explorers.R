# Explorers: counts of cohorts, free as long as a model is right about them; the others use an answer that was paid.

lw_preview_explorer <- function(session, table, columns = NULL, epsilon = NULL, delta = NULL, rho = NULL, checks = NULL,
                                yeses = NULL, questions = NULL, half_width = NULL, confidence = NULL) {
  amounts <- Filter(Negate(is.null), list(
    epsilon = epsilon, delta = delta, rho = rho, checks = checks, confidence = confidence
  ))
  wholes <- Filter(Negate(is.null), list(yeses = yeses, questions = questions, half_width = half_width))
  body <- c(
    list(table = table), if (!is.null(columns)) list(columns = columns_body(columns)),
    Map(exact_text, names(amounts), amounts), Map(whole_number, names(wholes), wholes)
  )
  told <- call_here(session, "preview_explorer", body = body)
  preview <- as_told("an explorer", {
    stopifnot(is_text(told$means), grepl("^[0-9a-f]{64}$", told$means), is_truth(told$affordable))
    stopifnot(is_whole(told$paid_answers, 1), is_whole(told$half_width, 1))
    list(
      means = told$means, model_price = price_of(told$model_price), checks_price = price_of(told$checks_price),
      half_width = told$half_width, paid_answers = told$paid_answers, free_reach = a_number(told$free_reach),
      number_reach = a_number(told$number_reach), affordable = told$affordable, body = body,
      refusal = if (is.null(told$refusal)) NULL else readable(told$refusal)
    )
  })
  believe_parts(preview)
  structure(preview, class = "lw_explorer_preview")
}

# Model and checks together cost no more than what was named.
believe_parts <- function(preview) {
  parts <- list(preview$model_price, preview$checks_price)
  for (currency in c("epsilon", "rho")) {
    wanted <- preview$body[[currency]]
    asked <- vapply(parts, function(one) told_amount(one[[currency]]), 0)
    if (!is.null(wanted) && !anyNA(asked) && sum(asked) > told_amount(wanted) * (1 + 1e-9)) {
      disagree("it asks another price than the one that was named")
    }
  }
}

lw_explorer <- function(session, table, columns = NULL, ..., key = NULL) {
  preview <- lw_preview_explorer(session, table, columns, ...)
  body <- meant_body(preview)
  body$confidence <- NULL
  key <- key_of(key)
  told <- call_here(session, "open_explorer", body = body, key = key)
  as_told("an explorer", {
    if (!identical(told$means, preview$means) || !same_price(price_of(told$checks_price), preview$checks_price)) {
      disagree("it opened another explorer")
    }
    state <- new.env(parent = emptyenv())
    state$left <- told$paid_answers_left
    stopifnot(is_whole(state$left, 0, preview$paid_answers))
    structure(class = "lw_explorer", list(session = session, key = key, table = table, preview = preview, state = state))
  })
}

# What the model guesses of some cohorts: free, and checked against nothing.
lw_guess <- function(explorer, where) explored(explorer, "guess_explorer", where, list(), NULL)

# Count cohorts; `buy` uses a paid answer for each, for counts that are wanted more exactly.
lw_explore <- function(explorer, where, guesses = NULL, buy = FALSE, key = NULL) {
  beside <- list(buy = truth("buy", buy))
  if (!is.null(guesses)) beside$guesses <- lapply(guesses, function(one) whole_number("guesses", one))
  explored(explorer, "ask_explorer", where, beside, key_of(key))
}

explored <- function(explorer, operation, where, beside, key) {
  if (!inherits(explorer, "lw_explorer")) bad_parameter("explorer", "is none", "open one with lw_explorer(session, ...)")
  if (!is.character(where) || !length(where) || anyNA(where)) {
    bad_parameter("where", "is no condition", 'write one as text, such as "age >= 65"; or several')
  }
  told <- call_here(
    explorer$session, operation, list(key = explorer$key), c(list(wheres = as.list(unname(where))), beside), key
  )
  as_told("what an explorer counts", {
    stopifnot(is.list(told$answers))
    if (length(told$answers) != length(where)) disagree("it counts other cohorts than it was asked for")
    frame <- do.call(rbind, Map(explored_row, unname(where), told$answers))
    rownames(frame) <- NULL
    left <- told$paid_answers_left
    used <- sum(!frame$free, na.rm = TRUE)
    if (!is_whole(left, 0, explorer$state$left) || (is.null(key) && left != explorer$state$left)) {
      disagree("it has more paid answers than it had, or used some for guesses")
    }
    if (used > explorer$state$left && !is.null(key)) disagree("it says that it used more paid answers than there were")
    explorer$state$left <- left
    frame
  })
}

explored_row <- function(where, told) {
  if (is.null(told)) { # after the last paid answer
    return(data.frame(where = where, people = NA_real_, low = NA_real_, high = NA_real_, free = TRUE, checked = FALSE))
  }
  stopifnot(is_truth(told$free), is_truth(told$checked))
  row <- data.frame(
    where = where, people = a_number(told$people), low = a_number(told$low), high = a_number(told$high),
    free = told$free, checked = told$checked
  )
  if (told$free != (told_amount(told$price) == 0)) disagree("it says another price than that of its answer")
  in_order(row$low, row$people, row$high)
  row
}

lw_close_explorer <- function(explorer) {
  if (!inherits(explorer, "lw_explorer")) bad_parameter("explorer", "is none", "open one with lw_explorer(session, ...)")
  told <- call_here(explorer$session, "close_explorer", list(key = explorer$key), key = fresh_key())
  as_told("an explorer", stopifnot(identical(told$status, "closed"), identical(told$means, explorer$preview$means)))
  explorer$state$left <- 0
  invisible(explorer)
}

print.lw_explorer_preview <- function(x, ...) {
  cat("cost    ", price_text(x$model_price), " for the model, ", price_text(x$checks_price), " for its checks\n", sep = "")
  cat("counts  free within ", x$free_reach, " where the model is right within ", x$half_width, "; ", x$paid_answers,
    " others within ", x$number_reach, "\n", sep = "")
  if (!x$affordable && !is.null(x$refusal)) cat("refused ", x$refusal, "\n", sep = "")
  invisible(x)
}

print.lw_explorer <- function(x, ...) {
  cat("<explorer of ", x$table, ": ", x$state$left, " paid answers left>\n", sep = "")
  invisible(x)
}
