# Refusals are conditions: of class "lapwing_error", and of a class of their own that follows from their code,
# such as "lapwing_budget_exceeded". What a server sends of them is text and numbers; control characters are left out.

longest_text <- 4000L

# A text of a server as a terminal may show it.
readable <- function(told) {
  text <- enc2utf8(substr(paste(as.character(told), collapse = " "), 1L, longest_text))
  gsub("\\p{C}", " ", text, perl = TRUE)
}

# Stop with a sentence: what was wrong, and what to do.
refuse <- function(kind, message, fields = list()) {
  condition <- structure(
    class = c(paste0("lapwing_", gsub("[^a-z_]", "", kind)), "lapwing_error", "error", "condition"),
    c(list(message = readable(message), call = NULL), fields)
  )
  stop(condition)
}

disagree <- function(reason) {
  refuse("disagreement", paste0(
    "the server does not agree with this client: ", reason,
    "; its answers are not believed: connect again, or ask the custodian"
  ))
}

bad_parameter <- function(name, reason, remedy) {
  refuse("parameter", paste0(name, " ", reason, "; ", remedy))
}

# Run `read`, which takes a reply apart; refuse a reply of which that cannot be done.
as_told <- function(what, read) {
  tryCatch(read, error = function(failure) {
    if (inherits(failure, "lapwing_error")) stop(failure)
    refuse("server", paste0(
      "the server does not tell ", what, " as this client knows it; ",
      "install the client of the version that the server has"
    ))
  })
}

# Stop with what a server says of a request that it refuses.
refuse_as_told <- function(status, told) {
  record <- if (is.list(told) && is.list(told$error)) told$error else NULL
  if (is.null(record) || !is.character(record$message) || length(record$message) != 1L) {
    refuse("server", "the server says what no server of lapwing says; look at its address", list(status = status))
  }
  code <- if (is.character(record$code) && length(record$code) == 1L) record$code else "server"
  plain <- Filter(function(one) is.atomic(one) && length(one) == 1L, record)
  plain <- lapply(plain, function(one) if (is.character(one)) readable(one) else one)
  plain <- plain[setdiff(names(plain), c("message", "call", "code", "status"))]
  refuse(code, record$message, c(list(code = readable(code), status = status), plain))
}
