# Asking: look first, then ask once what was looked at.
#
# Everything that is charged was previewed, and is sent with the digest of what the preview said that it means. A server
# to which the same words mean something else by then, or another price, refuses it before anything is charged; and what
# it answers is held against the preview.

lw_preview <- function(session, question, epsilon = NULL, delta = NULL, rho = NULL, within = NULL, confidence = NULL,
                       rows = NULL, max_rows = NULL, max_groups = NULL) {
  body <- list(
    question = question_body(question, max_rows, max_groups),
    price = price_body(epsilon, delta, rho, within, confidence, rows)
  )
  told <- call_here(session, "preview", body = body)
  preview <- as_told("a preview", read_preview(told, body))
  believe_preview(session, preview)
  preview
}

lw_ask <- function(session, question, epsilon = NULL, delta = NULL, rho = NULL, within = NULL, confidence = NULL,
                   rows = NULL, max_rows = NULL, max_groups = NULL, key = NULL) {
  preview <- question
  if (!inherits(question, "lw_preview")) {
    preview <- lw_preview(
      session, question,
      epsilon = epsilon, delta = delta, rho = rho, within = within, confidence = confidence, rows = rows,
      max_rows = max_rows, max_groups = max_groups
    )
  } else if (length(Filter(Negate(is.null), list(epsilon, delta, rho, within, confidence, rows)))) {
    bad_parameter("a price", "is in the preview already", "ask(session, preview), or write the question again")
  }
  body <- c(preview$body, list(means = list(digest_of(preview$question))))
  told <- call_here(session, "ask", body = body, key = key_of(key))
  as_told("an answer", read_answer(session, told, preview))
}

lw_sql <- function(session, text, epsilon = NULL, delta = NULL, rho = NULL, within = NULL, confidence = NULL,
                   rows = NULL, max_rows = NULL, max_groups = NULL, key = NULL) {
  if (!is_text(text)) bad_parameter("text", "is no SELECT", 'write "select count(*) from patient"')
  lw_ask(
    session, text,
    epsilon = epsilon, delta = delta, rho = rho, within = within, confidence = confidence, rows = rows,
    max_rows = max_rows, max_groups = max_groups, key = key
  )
}

lw_rehearse <- function(session, question, epsilon = NULL, delta = NULL, rho = NULL, within = NULL, confidence = NULL,
                        rows = NULL, max_rows = NULL, max_groups = NULL) {
  preview <- lw_preview(
    session, question,
    epsilon = epsilon, delta = delta, rho = rho, within = within, confidence = confidence, rows = rows,
    max_rows = max_rows, max_groups = max_groups
  )
  told <- call_here(session, "rehearse", body = preview$body)
  as_told("an answer", read_answer(session, told, preview, rehearsal = TRUE))
}

lw_many <- function(session, questions, epsilon = NULL, delta = NULL, rho = NULL, within = NULL, confidence = NULL,
                    rows = NULL, key = NULL) {
  if (inherits(questions, "lw_question") || !length(questions)) {
    bad_parameter("questions", "are no list of questions", 'write list(lw_count("patient"), ...)')
  }
  questions <- as.list(questions)
  previews <- lapply(questions, function(one) {
    lw_preview(
      session, one,
      epsilon = epsilon, delta = delta, rho = rho, within = within, confidence = confidence, rows = rows
    )
  })
  texts <- vapply(previews, function(one) one$question, "")
  body <- list(
    questions = unname(lapply(previews, function(one) one$body$question)), price = previews[[1L]]$body$price,
    means = list(digest_of(texts))
  )
  told <- call_here(session, "ask_many", body = body, key = key_of(key))
  answers <- as_told("answers", {
    stopifnot(is.list(told$answers))
    told$answers
  })
  if (length(answers) != length(previews)) {
    disagree(paste("it tells", length(answers), "answers to", length(previews), "questions"))
  }
  read <- Map(function(one, preview) as_told("an answer", read_answer(session, one, preview)), answers, previews)
  stats::setNames(read, names(questions))
}
