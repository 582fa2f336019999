# Numbers as they are written: a price of 0.1 is one tenth. What is not said with 15 digits is sent as text by its user.

exact_text <- function(name, given) {
  if (is.character(given) && length(given) == 1L && grepl("^[-+0-9./eE]{1,40}$", given)) {
    return(given)
  }
  if (is.numeric(given) && length(given) == 1L && is.finite(given)) {
    text <- format(given, digits = 15L, scientific = FALSE, trim = TRUE)
    if (abs(as.numeric(text) - given) <= 1e-15 * abs(given)) {
      return(text)
    }
  }
  bad_parameter(name, "is not one number", 'write 0.1, or a text such as "1/3"')
}

whole_number <- function(name, given) {
  if (!is.numeric(given) || length(given) != 1L || !is.finite(given) || given != round(given) || abs(given) > 2^53) {
    bad_parameter(name, "is not a whole number", "write one, such as 20")
  }
  if (abs(given) < .Machine$integer.max) as.integer(given) else given
}

truth <- function(name, given) {
  if (!is.logical(given) || length(given) != 1L || is.na(given)) {
    bad_parameter(name, "is neither TRUE nor FALSE", "write one of them")
  }
  given
}

# The number in a text that a server told, such as "0.5" or "1/3"; NA for what is none.
told_amount <- function(told) {
  if (is.null(told)) {
    return(NA_real_)
  }
  if (is.numeric(told) && length(told) == 1L) {
    return(as.numeric(told))
  }
  if (!is.character(told) || length(told) != 1L || !grepl("^-?[0-9]+(\\.[0-9]+)?(/[0-9]+)?$", told)) {
    return(NA_real_)
  }
  parts <- as.numeric(strsplit(told, "/", fixed = TRUE)[[1L]])
  if (length(parts) == 2L) parts[1L] / parts[2L] else parts
}

same_amount <- function(one, other) {
  one <- told_amount(one)
  other <- told_amount(other)
  if (is.na(one) || is.na(other)) {
    return(is.na(one) && is.na(other))
  }
  abs(one - other) <= 1e-9 * max(abs(one), abs(other))
}

is_truth <- function(told) is.logical(told) && length(told) == 1L && !is.na(told)

is_whole <- function(told, least, most = 2^62) {
  is.numeric(told) && length(told) == 1L && is.finite(told) && told == round(told) && told >= least && told <= most
}

is_text <- function(told) is.character(told) && length(told) == 1L && !is.na(told)

# The digest of canonical texts, as servers compute it: the SHA-256 of their JSON. The texts are ASCII.
digest_of <- function(texts) {
  if (!all(grepl("^[ -~]*$", texts))) {
    disagree("what it means is no canonical text")
  }
  written <- gsub('"', '\\"', gsub("\\", "\\\\", texts, fixed = TRUE), fixed = TRUE)
  as.character(openssl::sha256(paste0("[", paste0('"', written, '"', collapse = ","), "]")))
}
