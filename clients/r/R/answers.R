# Answers as data frames: the keys of a row, and for each column its value with the bounds in which the truth lies.

frame_of <- function(given, columns) {
  rows <- given$rows
  keys <- lapply(seq_along(given$keys), function(i) {
    simple(lapply(rows, function(row) {
      stopifnot(length(row$key) == length(given$keys))
      row$key[[i]]
    }))
  })
  names(keys) <- vapply(given$keys, readable, "")
  values <- list()
  for (column in columns) {
    told <- lapply(rows, function(row) {
      one <- row$values[[column]]
      stopifnot(is.list(one), "value" %in% names(one), "low" %in% names(one), "high" %in% names(one))
      checked_value(one)
    })
    values[[column]] <- simple(lapply(told, function(one) one$value))
    values[[paste0(column, "_low")]] <- simple(lapply(told, function(one) one$low))
    values[[paste0(column, "_high")]] <- simple(lapply(told, function(one) one$high))
  }
  frame <- c(keys, values)
  as.data.frame(frame, optional = TRUE, stringsAsFactors = FALSE, row.names = seq_along(rows))
}

# A value with its bounds; exact fractions as the numbers next to them.
checked_value <- function(one) {
  read <- function(name) {
    value <- one[[name]]
    if (is_text(value)) {
      near <- one$rounded[[name]]
      amount <- told_amount(value)
      if (is.na(amount)) {
        return(readable(value))
      }
      stopifnot(is.null(near) || same_amount(near, amount) || abs(near - amount) <= 1e-6 * abs(amount))
      return(amount)
    }
    stopifnot(is.null(value) || (is.numeric(value) && length(value) == 1L && is.finite(value)))
    value
  }
  told <- list(value = read("value"), low = read("low"), high = read("high"))
  known <- Filter(is.numeric, told[c("low", "value", "high")])
  if (is.unsorted(unlist(known))) disagree("it tells a value outside its bounds")
  told
}

# A list of plain values as a vector; what is missing is NA.
simple <- function(told) {
  told <- lapply(told, function(one) if (is.null(one)) NA else one)
  stopifnot(all(vapply(told, function(one) is.atomic(one) && length(one) == 1L, TRUE)))
  is_word <- vapply(told, is.character, TRUE)
  if (any(is_word)) {
    told <- lapply(told, function(one) if (is.na(one)) NA_character_ else readable(one))
  }
  if (length(told)) unlist(told) else numeric()
}

as.data.frame.lw_answer <- function(x, row.names = NULL, optional = FALSE, ...) {
  frame <- x$frame
  attr(frame, "receipt") <- x$receipt
  frame
}

print.lw_answer <- function(x, ...) {
  if (x$rehearsal) cat("A rehearsal: made-up numbers, about nobody.\n")
  print(x$frame, row.names = FALSE)
  cat("\nasked   ", x$asked, "\n", sep = "")
  if (nzchar(x$bounding)) cat("bounded ", x$bounding, "\n", sep = "")
  if (length(x$cut)) {
    cat("cut     ", paste(x$cut, collapse = ", "), ": a bound of rows or groups may have left rows out; ",
      "the bounds are about noise only\n", sep = "")
    if (!is.null(x$cut_table)) {
      cat("        lw_rows_a_person(session, \"", x$cut_table, "\", ...) says how much, for the price of a count\n", sep = "")
    }
  }
  cat("cost    ", if (x$free) "nothing, it was asked before" else price_text(x$price), "\n", sep = "")
  if (!is.null(x$receipt)) cat("receipt ", x$receipt, "\n", sep = "")
  invisible(x)
}

print.lw_preview <- function(x, ...) {
  cat("asked   ", x$asked, "\n", sep = "")
  if (nzchar(x$bounding)) cat("bounded ", x$bounding, "\n", sep = "")
  cat("cost    ", if (x$stored) "nothing, it was asked before" else price_text(x$price), "\n", sep = "")
  for (name in names(x$margin)) {
    said <- if (is.na(x$margin[[name]])) "depends on how many rows count" else format(x$margin[[name]], digits = 4)
    cat("error   ", if (length(x$margin) > 1L) paste0(name, ": ") else "", said,
      if (is.na(x$margin[[name]])) "" else paste0(", with ", 100 * x$confidence, " % confidence"), "\n", sep = "")
  }
  if (!x$affordable && !is.null(x$refusal)) cat("refused ", x$refusal, "\n", sep = "")
  cat("paid    nothing: this is a preview, and no data was read\n")
  invisible(x)
}
