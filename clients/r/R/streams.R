# Streams of "at least N people?" questions, paid per yes. All of their state is at the server.

lw_preview_stream <- function(session, at_least, yeses, ...) {
  body <- stream_body(at_least, yeses, ...)
  told <- call_here(session, "preview_stream", body = body)
  preview <- as_told("the terms of a stream", {
    stopifnot(is_text(told$terms), is.list(told$price), is_text(told$price$each_yes), is_text(told$price$opening))
    list(
      terms = told$terms, price = lapply(told$price[c("opening", "each_yes", "all")], readable),
      paid_by_yes = isTRUE(told$price$paid_by_yes), margin = told_amount(told$margin),
      at_least = told_amount(told$at_least), yeses = told$yeses, confidence = told_amount(told$confidence),
      affordable = isTRUE(told$affordable), refusal = if (is.null(told$refusal)) NULL else readable(told$refusal),
      body = body
    )
  })
  believe_terms(session, preview)
  structure(preview, class = "lw_stream_preview")
}

stream_body <- function(at_least, yeses, ...) {
  words <- Filter(Negate(is.null), list(at_least = at_least, yeses = yeses, ...))
  strange <- setdiff(names(words), stream_fields)
  if (length(strange) || !all(nzchar(names(words)))) {
    bad_parameter(c(strange, "a word")[1L], "is none of a stream", paste("it takes", paste(stream_fields, collapse = ", ")))
  }
  Map(function(name, given) {
    switch(name,
      yeses = ,
      questions = ,
      max_rows = whole_number(name, given),
      number = truth(name, given),
      table = ,
      total = ,
      proportion = ,
      correlation = if (is_text(given)) given else bad_parameter(name, "is not a text", "write a name, or a value"),
      exact_text(name, given)
    )
  }, names(words), words)
}

# The terms are those that were asked for: how many people, how many yeses, at which price, in which table.
believe_terms <- function(session, preview) {
  terms <- tryCatch(jsonlite::parse_json(preview$terms), error = function(failure) NULL)
  wanted <- preview$body
  other <- "it would open another stream"
  if (!is.list(terms) || !same_amount(terms$yeses, wanted$yeses)) disagree(other)
  if (!same_amount(preview$at_least, wanted$at_least) || !same_amount(preview$yeses, wanted$yeses)) disagree(other)
  if (!is.null(wanted$epsilon) && !same_amount(terms$epsilon, wanted$epsilon)) disagree(paste0(other, ", or at another price"))
  if (!is.null(wanted$table) && !identical(terms$table, wanted$table)) disagree(other)
  if (!identical(terms$adjacency, session$dictionary$unit$adjacency)) disagree(other)
  steps <- told_amount(preview$price$opening) + wanted$yeses * told_amount(preview$price$each_yes)
  if (!same_amount(terms$epsilon, preview$price$all) || !same_amount(steps, preview$price$all)) {
    disagree("the price of its opening and of its yeses is not that of the stream")
  }
}

lw_stream <- function(session, at_least, yeses, ..., title = NULL, key = NULL) {
  preview <- lw_preview_stream(session, at_least, yeses, ...)
  body <- preview$body
  if (!is.null(title)) body$title <- title
  told <- call_here(session, "open_stream", body = body, key = key_of(key))
  stream <- as_told("a stream", {
    stopifnot(is_text(told$stream), is_text(told$terms), grepl("^[A-Za-z0-9._~-]{1,128}$", told$stream))
    list(session = session, name = told$stream, preview = preview)
  })
  if (!identical(told$terms, preview$terms)) disagree("it opened another stream")
  structure(stream, class = "lw_stream")
}

stream_of <- function(given) {
  if (!inherits(given, "lw_stream")) bad_parameter("stream", "is no stream", "open one with lw_stream(session, ...)")
  given
}

lw_stream_status <- function(stream) {
  stream <- stream_of(stream)
  told <- call_here(stream$session, "stream", list(stream = stream$name))
  as_told("a stream", {
    if (!identical(told$terms, stream$preview$terms)) disagree("it tells of another stream")
    spent <- told_amount(told$spent)
    stopifnot(is_text(told$status), !is.na(spent), spent >= 0, spent <= told_amount(stream$preview$price$all) * (1 + 1e-9))
    stopifnot(is_whole(told$yeses_left, 0, stream$preview$yeses))
    data.frame(
      stream = stream$name, status = readable(told$status), asked = as.numeric(told$asked),
      yeses_left = as.numeric(told$yeses_left), spent = spent
    )
  })
}

lw_ask_stream <- function(stream, where, at_least = NULL, key = NULL) {
  stream <- stream_of(stream)
  if (!is.character(where) || !length(where) || anyNA(where)) {
    bad_parameter("where", "is no condition", 'write one as text, such as "age >= 65"; or several')
  }
  people <- if (is.null(at_least)) stream$preview$at_least else told_amount(exact_text("at_least", at_least))
  beside <- if (is.null(at_least)) list() else list(at_least = exact_text("at_least", at_least))
  if (length(where) == 1L) {
    told <- call_here(
      stream$session, "ask_stream", list(stream = stream$name), c(list(where = unname(where)), beside), key_of(key)
    )
    answers <- list(told)
  } else {
    told <- call_here(
      stream$session, "ask_stream_many", list(stream = stream$name), c(list(wheres = as.list(unname(where))), beside),
      key_of(key)
    )
    answers <- as_told("answers of a stream", {
      stopifnot(is.list(told$answers))
      told$answers
    })
  }
  if (length(answers) != length(where)) {
    disagree(paste("it tells", length(answers), "answers to", length(where), "conditions"))
  }
  rows <- Map(function(one, condition) as_told("an answer of a stream", verdict_of(one, condition, people, stream)), answers, where)
  frame <- do.call(rbind, unname(rows))
  believe_order(frame, stream)
  rownames(frame) <- NULL
  frame
}

verdict_of <- function(told, condition, people, stream) {
  if (is.null(told)) { # after the last yes
    return(data.frame(
      where = condition, at_least = people, verdict = NA, low = NA_real_, high = NA_real_, price = 0, free = TRUE,
      question = NA_real_, yeses_left = 0, receipt = NA_character_
    ))
  }
  stopifnot(is_text(told$verdict), told$verdict %in% c("above", "below"), is_truth(told$free))
  stopifnot(is_whole(told$question, 1), is_whole(told$yeses_left, 0, stream$preview$yeses))
  yes <- told$verdict == "above"
  if (!same_amount(told$at_least, people) || !same_amount(told$price, if (yes) stream$preview$price$each_yes else "0")) {
    disagree("it answered another question, or at another price")
  }
  if (yes && told$yeses_left >= stream$preview$yeses) disagree("it gives more yeses than the stream has")
  if (!yes && !told$free) disagree("it charged for a no, which is free")
  if (yes != !is.na(told_amount(told$gap))) disagree("a yes has a gap, and a no has none")
  low <- told_amount(told$interval$low)
  high <- told_amount(told$interval$high)
  stopifnot(is.na(low) || is.na(high) || low <= high)
  data.frame(
    where = condition, at_least = people, verdict = yes, low = low, high = high, price = told_amount(told$price),
    free = told$free, question = as.numeric(told$question), yeses_left = as.numeric(told$yeses_left),
    receipt = receipt_of(told$receipt)
  )
}

# What was answered just now is numbered one after the other, and has no more yeses than there are.
believe_order <- function(frame, stream) {
  new <- frame[!is.na(frame$verdict) & frame$verdict & !frame$free, ]
  if (nrow(new) > 1L && any(diff(new$question) <= 0)) disagree("it numbers its answers otherwise than they come")
  if (nrow(new) && nrow(new) + new$yeses_left[nrow(new)] > stream$preview$yeses) {
    disagree("it gives more yeses than the stream has")
  }
}

lw_close <- function(stream) {
  stream <- stream_of(stream)
  told <- call_here(stream$session, "close_stream", list(stream = stream$name), key = fresh_key())
  as_told("a stream", {
    stopifnot(identical(told$status, "closed"))
    spent <- told_amount(told$spent)
    stopifnot(!is.na(spent), spent <= told_amount(stream$preview$price$all) * (1 + 1e-9))
    invisible(spent)
  })
}

print.lw_stream_preview <- function(x, ...) {
  cat("asked  at least ", x$at_least, "?, up to ", x$yeses, " yeses\n", sep = "")
  cat("cost   epsilon ", x$price$opening, " to open, ", x$price$each_yes, " for each yes, nothing for a no; ", x$price$all,
    if (x$paid_by_yes) " at most\n" else ", all of it paid when it is opened\n", sep = "")
  cat("error  an answer is right, with ", 100 * x$confidence, " % confidence, if the true number is ",
    format(x$margin, digits = 4), " or more away\n", sep = "")
  if (!x$affordable && !is.null(x$refusal)) cat("refused ", x$refusal, "\n", sep = "")
  invisible(x)
}

print.lw_stream <- function(x, ...) {
  cat("<stream ", x$name, ": at least ", x$preview$at_least, "?, up to ", x$preview$yeses, " yeses>\n", sep = "")
  invisible(x)
}
