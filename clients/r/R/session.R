# A session: one person at the door of one population of a server.

lw_connect <- function(url = Sys.getenv("LAPWING_URL"), token = Sys.getenv("LAPWING_TOKEN"), population = NULL,
                       segment = NULL, timeout = 60, authorities = NULL) {
  connection <- new_connection(url, token, timeout, authorities)
  me <- call_operation(connection, "me")
  analyst <- as_told("who this is", {
    stopifnot(is_text(me$id), identical(readable(me$id), me$id))
    me$id
  })
  if (is.null(population)) population <- only_population(connection)
  if (!is_text(population)) bad_parameter("population", "is not a name", "write the one of the custodian")
  told <- call_operation(connection, "population", list(population = population))
  session <- list(
    connection = connection, analyst = analyst, population = population, segment = segment,
    dictionary = as_told("what it knows of a population", read_dictionary(told))
  )
  if (!identical(session$dictionary$population, population)) {
    disagree(paste0("it tells of '", session$dictionary$population, "', and '", population, "' was asked for"))
  }
  if (!is.null(segment) && !segment %in% session$dictionary$segments) {
    bad_parameter("segment", "is none of this population", paste(session$dictionary$segments, collapse = ", "))
  }
  structure(session, class = "lw_session")
}

only_population <- function(connection) {
  told <- call_operation(connection, "populations")
  names <- as_told("its populations", vapply(told, function(one) {
    stopifnot(is_text(one$population))
    readable(one$population)
  }, ""))
  if (length(names) != 1L) {
    those <- if (length(names)) paste(names, collapse = ", ") else "there is none"
    bad_parameter("population", "is not clear", paste("name one of those that you may see:", those))
  }
  names
}

read_dictionary <- function(told) {
  stopifnot(is_text(told$population), is.list(told$tables), is.list(told$unit), is_whole(told$salt, -2^62))
  stopifnot(is_whole(told$unit$protects_groups_of, 1), is_text(told$unit$adjacency), is_text(told$unit$person_key))
  columns <- lapply(told$tables, function(table) {
    stopifnot(is_text(table$table), is.list(table$columns), is_text(table$rows))
    lapply(table$columns, function(one) {
      stopifnot(is_text(one$column), is_text(one$type), is_truth(one$nullable))
      data.frame(
        table = readable(table$table), column = readable(one$column), type = readable(one$type),
        values = readable(values_of(one)), unit = said_of(one, "unit"), description = said_of(one, "description"),
        nullable = one$nullable, rows = readable(table$rows)
      )
    })
  })
  none <- data.frame(
    table = character(), column = character(), type = character(), values = character(), unit = character(),
    description = character(), nullable = logical(), rows = character()
  )
  list(
    population = told$population, unit = told$unit, salt = told$salt,
    tables = vapply(told$tables, function(one) one$table, ""),
    segments = vapply(told$segments, function(one) one$name, ""),
    columns = do.call(rbind, c(list(none), unlist(columns, recursive = FALSE)))
  )
}

# What the custodian says of a column beside its bounds; nothing where nothing is said.
said_of <- function(column, word) {
  if (is.null(column[[word]])) return("")
  stopifnot(is_text(column[[word]]))
  readable(column[[word]])
}

values_of <- function(column) {
  known <- switch(column$type,
    category = column$values,
    integer = ,
    real = list(column$low, column$high),
    date = list(column$first, column$last)
  )
  between <- if (identical(column$type, "category")) ", " else " to "
  paste(vapply(Filter(Negate(is.null), known), function(one) as.character(one), ""), collapse = between)
}

# What may be asked about: a row for each column of each table.
lw_columns <- function(session) session_of(session)$dictionary$columns

lw_budget <- function(session) {
  told <- call_here(session, "budget")
  left <- as_told("the account", {
    stopifnot(is_text(told$left$text), is_text(told$left$currency))
    list(
      text = readable(told$left$text), currency = readable(told$left$currency),
      amount = told_amount(told$left$rounded),
      allowance = if (is.null(told$allowance)) NULL else readable(told$allowance$text),
      suspended = if (is.null(told$suspended)) NULL else readable(told$suspended)
    )
  })
  structure(left, class = "lw_budget")
}

print.lw_budget <- function(x, ...) {
  cat("left:", x$text, "\n")
  if (!is.null(x$allowance)) cat("of it yours:", x$allowance, "\n")
  if (!is.null(x$suspended)) cat(x$suspended, "\n")
  invisible(x)
}

print.lw_session <- function(x, ...) {
  cat("<session of ", x$analyst, " at ", x$population, " of ", x$connection$url, ": ",
    paste(x$dictionary$tables, collapse = ", "), ">\n", sep = "")
  invisible(x)
}

session_of <- function(given) {
  if (!inherits(given, "lw_session")) {
    bad_parameter("session", "is no session", "open one with lw_connect(url, token)")
  }
  given
}

# Call an operation about the population of a session; what it is about goes with the body.
call_here <- function(session, name, parts = list(), body = NULL, key = NULL) {
  session <- session_of(session)
  if (!is.null(body) && !is.null(session$segment)) body$segment <- session$segment
  call_operation(session$connection, name, c(list(population = session$population), parts), body, key)
}
