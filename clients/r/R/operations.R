# What this client asks of a server: the names, methods and paths of its table of operations.
#
# A test of the server compares each with the operation of the same name there.

api <- "/api/v1"

operations <- list(
  me                  = c("GET", "/me"),
  populations         = c("GET", "/populations"),
  population          = c("GET", "/populations/{population}"),
  budget              = c("GET", "/populations/{population}/budget"),
  preview             = c("POST", "/populations/{population}/previews"),
  ask                 = c("POST", "/populations/{population}/questions"),
  ask_many            = c("POST", "/populations/{population}/batches"),
  rehearse            = c("POST", "/populations/{population}/rehearsals"),
  preview_stream      = c("POST", "/populations/{population}/stream-previews"),
  open_stream         = c("POST", "/populations/{population}/streams"),
  stream              = c("GET", "/populations/{population}/streams/{stream}"),
  ask_stream          = c("POST", "/populations/{population}/streams/{stream}/questions"),
  ask_stream_many     = c("POST", "/populations/{population}/streams/{stream}/batches"),
  close_stream        = c("DELETE", "/populations/{population}/streams/{stream}"),
  preview_publication = c("POST", "/populations/{population}/publication-previews"),
  publish             = c("POST", "/populations/{population}/publications")
)

price_fields <- c("epsilon", "delta", "rho", "within", "confidence", "rows")

stream_fields <- c(
  "at_least", "yeses", "epsilon", "within", "confidence", "questions", "table", "number",
  "total", "proportion", "correlation", "max_rows"
)

publication_fields <- c("table", "columns", "marginals", "price", "non_negative", "whole", "means")
