# `make test-r` starts the servers, and says where they are. Without them only what needs none is tested.

servers <- function() {
  told <- Sys.getenv("LAPWING_SERVERS")
  if (!nzchar(told)) skip("no server: make test-r starts some")
  jsonlite::parse_json(told)
}

session_at <- function(kind = "epsilon") {
  place <- servers()[[kind]]
  lw_connect(place$url, place$token, timeout = 20)
}

liar <- function(name) {
  servers()
  jsonlite::parse_json(Sys.getenv("LAPWING_LIES"))[[name]]
}

for_each_budget <- function(test) for (kind in names(servers())) test(session_at(kind), kind)

at_liar <- function(name) lw_connect(liar(name), servers()$epsilon$token, timeout = 10)

refused_with <- function(expression, class = "lapwing_error") {
  told <- tryCatch(expression, error = function(failure) failure)
  expect_s3_class(told, class)
  expect_false(grepl("\033", conditionMessage(told), fixed = TRUE))
  told
}
