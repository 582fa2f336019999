# The way to one server: requests that are sent again, under their key, until they have an end.
#
# The token goes to this one host and nowhere else: no redirection is followed, no proxy of the surroundings is asked,
# and over a network it goes through TLS or not at all. What comes back is data, of limited size, within a limited
# time, and nothing in it is run.

most_bytes <- 40 * 1024 * 1024
deepest <- 512L
longest_wait <- 20
tries_of_busy <- 5L

new_connection <- function(url, token, timeout, authorities) {
  place <- checked_url(url)
  if (!is_text(token) || !grepl("^[!-~]+$", token) || nchar(token) > 400L) {
    bad_parameter("token", "is not a token", "paste it as it was shown: lw_...")
  }
  if (!is.numeric(timeout) || length(timeout) != 1L || !is.finite(timeout) || timeout <= 0) {
    bad_parameter("timeout", "is not a number of seconds", "write one, such as 60")
  }
  state <- new.env(parent = emptyenv())
  state$known <- FALSE
  waits <- max(1, min(longest_wait, floor(timeout / 2)))
  begin <- function(method, path, headers) {
    request <- httr2::request(paste0(place, api, path))
    request <- httr2::req_method(request, method)
    said <- list(
      Authorization = paste("Bearer", token), Accept = "application/json", Prefer = paste0("wait=", waits)
    )
    request <- do.call(httr2::req_headers, c(list(request), said, headers))
    request <- httr2::req_user_agent(request, "lapwing-r/0.1.0")
    request <- httr2::req_timeout(request, waits + timeout)
    request <- httr2::req_error(request, is_error = function(reply) FALSE)
    options <- list(
      followlocation = FALSE, proxy = "", noproxy = "*", maxfilesize = most_bytes,
      connecttimeout = ceiling(timeout)
    )
    if (!is.null(authorities)) options$cainfo <- normalizePath(authorities, mustWork = TRUE)
    do.call(httr2::req_options, c(list(request), options))
  }
  list(url = place, timeout = timeout, waits = waits, begin = begin, state = state)
}

checked_url <- function(url) {
  if (!is_text(url)) {
    bad_parameter("url", "is not the address of a server", "write https://clinic.example.org")
  }
  parts <- tryCatch(httr2::url_parse(url), error = function(failure) list())
  is_place <- identical(parts$scheme, "http") || identical(parts$scheme, "https")
  if (!is_place || is.null(parts$hostname) || !nzchar(parts$hostname)) {
    bad_parameter("url", "is not the address of a server", "write https://clinic.example.org")
  }
  if (!is.null(parts$username) || !is.null(parts$password) || grepl("@", url, fixed = TRUE) ||
    length(parts$query) || !is.null(parts$fragment)) {
    bad_parameter("url", "has more in it than an address", "give the token by itself")
  }
  loopback <- parts$hostname %in% c("localhost", "[::1]", "::1") ||
    grepl("^127\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}$", parts$hostname)
  if (parts$scheme == "http" && !loopback) {
    bad_parameter("url", "would show the token to everybody on the way", "write https://")
  }
  sub(paste0(api, "$"), "", sub("/+$", "", url))
}

# The path of an operation, with what stands for its parts.
path_of <- function(name, parts) {
  path <- operations[[name]][2L]
  for (part in names(parts)) {
    path <- sub(paste0("{", part, "}"), curl_escaped(parts[[part]]), path, fixed = TRUE)
  }
  path
}

curl_escaped <- function(text) utils::URLencode(enc2utf8(text), reserved = TRUE)

# Call an operation until it has an end. With a `key` it is charged once, however often it is sent.
call_operation <- function(connection, name, parts = list(), body = NULL, key = NULL) {
  method <- operations[[name]][1L]
  headers <- if (is.null(key)) list() else list(`Idempotency-Key` = key)
  request <- connection$begin(method, path_of(name, parts), headers)
  if (!is.null(body)) {
    request <- httr2::req_body_raw(request, json_of(body), type = "application/json")
  }
  until_told(connection, request)
}

# Read a text, such as rows as CSV; refusals are JSON all the same.
call_text <- function(connection, name, parts, query) {
  request <- connection$begin(operations[[name]][1L], path_of(name, parts), list())
  until_told(connection, do.call(httr2::req_url_query, c(list(request), query)), read_text)
}

until_told <- function(connection, request, read = read_reply) {
  since <- now()
  lost <- 0L
  busy <- 0L
  repeat {
    sent <- now()
    reply <- tryCatch(httr2::req_perform(request), interrupt = stop, error = function(failure) failure)
    if (inherits(reply, "error")) {
      give_up(connection, reply, since)
      Sys.sleep(c(0, 0.1, 0.3, 1)[min(lost, 3L) + 1L])
      lost <- lost + 1L
      next
    }
    connection$state$known <- TRUE
    status <- httr2::resp_status(reply)
    told <- if (status == 200L) read(reply, connection$url) else read_reply(reply, connection$url)
    patient <- now() - since < connection$timeout
    if (status == 202L) {
      if (now() - sent >= connection$waits / 2) {
        since <- now()
      } else if (patient) {
        Sys.sleep(pause_of(reply))
      } else {
        refuse("server", paste0(
          connection$url, " only says, without working on it, that it takes longer; ",
          "ask again later under the same key, which is charged once"
        ))
      }
    } else if (patient && (status == 429L || (status == 503L && busy < tries_of_busy))) {
      busy <- busy + (status == 503L)
      Sys.sleep(pause_of(reply))
    } else if (status != 200L || is.null(told)) {
      refuse_as_told(status, told$value)
    } else {
      return(told$value)
    }
  }
}

now <- function() as.numeric(proc.time()[["elapsed"]])

pause_of <- function(reply) {
  said <- suppressWarnings(as.numeric(httr2::resp_header(reply, "Retry-After")))
  max(0.25, min(10, if (length(said) == 1L && !is.na(said)) said else 1))
}

# Stop where a retry is of no use: the server never answered, is not trusted, or takes too long.
give_up <- function(connection, failure, since) {
  cause <- paste(conditionMessage(failure), if (!is.null(failure$parent)) conditionMessage(failure$parent))
  if (grepl("certificate|SSL|TLS", cause, ignore.case = TRUE) && !grepl("timed? ?out", cause, ignore.case = TRUE)) {
    refuse("server", paste0(
      "the certificate of ", connection$url, " is not trusted; ask the custodian, ",
      'and name the file of its authority: authorities = "hospital.pem"'
    ))
  }
  if (grepl("filesize|maximum file size", cause, ignore.case = TRUE)) {
    refuse("server", paste0("an answer of ", connection$url, " is too large; ask for less at once"))
  }
  if (!connection$state$known || now() - since >= connection$timeout) {
    refuse("server", paste0(
      "no server is reached at ", connection$url, "; look whether it runs; ",
      "what was asked under a key can be asked again, and is charged once"
    ))
  }
}

# The JSON value of a reply, in a list; NULL for what no server of lapwing sends.
read_reply <- function(reply, url) {
  body <- reply$body
  if (!is.raw(body) || !length(body)) {
    return(NULL)
  }
  if (length(body) > most_bytes) {
    refuse("server", paste0("an answer of ", url, " is too large; ask for less at once"))
  }
  opened <- body == as.raw(0x5b) | body == as.raw(0x7b)
  closed <- body == as.raw(0x5d) | body == as.raw(0x7d)
  if (any(body == as.raw(0L)) || max(cumsum(opened - closed)) > deepest) {
    return(NULL)
  }
  text <- rawToChar(body)
  Encoding(text) <- "UTF-8"
  if (!validUTF8(text)) {
    return(NULL)
  }
  tryCatch(
    list(value = jsonlite::parse_json(text, simplifyVector = FALSE)),
    error = function(failure) NULL
  )
}

read_text <- function(reply, url) {
  body <- reply$body
  if (!is.raw(body) || any(body == as.raw(0L))) {
    return(NULL)
  }
  if (length(body) > most_bytes) refuse("server", paste0("an answer of ", url, " is too large; ask for less at once"))
  text <- rawToChar(body)
  Encoding(text) <- "UTF-8"
  if (validUTF8(text)) list(value = text) else NULL
}

json_of <- function(body) {
  jsonlite::toJSON(body, auto_unbox = TRUE, null = "null", digits = NA)
}

fresh_key <- function() paste(as.character(openssl::rand_bytes(16L)), collapse = "")

# An idempotency key as servers take it: a fresh one, the given one, or its digest.
key_of <- function(given) {
  if (is.null(given)) {
    return(fresh_key())
  }
  if (!is_text(given) || !nzchar(given)) {
    bad_parameter("key", "is not a text", "write one of your own for each question")
  }
  if (grepl("^[A-Za-z0-9._~-]{8,128}$", given)) given else as.character(openssl::sha256(enc2utf8(given)))
}
