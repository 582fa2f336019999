# Somebody stands between this client and a real server, and changes one part of what is told.

test_that("who lies about the population is refused before anything is asked", {
  before <- lw_budget(session_at())$amount
  for (lie in c("another name", "the neighbours", "groups of two", "another salt", "no unit", "who it is")) {
    refused_with(lw_ask(at_liar(lie), lw_count("patient", "age = 17"), epsilon = 0.1))
  }
  expect_identical(lw_budget(session_at())$amount, before)
})

test_that("who lies in a preview is refused, and nothing is asked", {
  before <- lw_budget(session_at())$amount
  lies <- c(
    "a question", "a price before", "a table", "its noise", "no text", "no list", "deep", "no JSON", "a NaN", "a meaning"
  )
  for (lie in lies) refused_with(lw_ask(at_liar(lie), lw_count("patient", "age = 18"), epsilon = 0.1))
  refused_with(lw_preview(at_liar("an error"), lw_count("patient", "age = 18"), within = 20), "lapwing_disagreement")
  expect_identical(lw_budget(session_at())$amount, before)
})

test_that("the server itself refuses what means something else there", {
  told <- refused_with(lw_ask(at_liar("a meaning"), lw_count("patient", "age = 18"), epsilon = 0.1))
  expect_s3_class(told, "lapwing_disagreement")
  expect_match(conditionMessage(told), "nothing was asked")
})

test_that("who lies in an answer is not believed", {
  lies <- c(
    "another question", "another price", "another error", "made up", "no receipt", "other tables", "a version",
    "no truth", "outside", "a huge number"
  )
  for (lie in lies) refused_with(lw_ask(at_liar(lie), lw_count("patient", "age = 19"), epsilon = 0.1))
  refused_with(lw_rehearse(at_liar("about people"), lw_count("patient"), epsilon = 1), "lapwing_disagreement")
  two <- list(lw_count("patient", "age = 20"), lw_count("patient", "age = 21"))
  for (lie in c("fewer", "exchanged")) refused_with(lw_many(at_liar(lie), two, epsilon = 0.1), "lapwing_disagreement")
})

test_that("what does not fit a stream is not believed", {
  terms <- list(at_least = 20, yeses = 2, epsilon = 2)
  for (lie in c("another stream", "opened another")) {
    refused_with(do.call(lw_stream, c(list(at_liar(lie)), terms)), "lapwing_disagreement")
  }
  for (lie in c("another threshold", "a yes for nothing", "no gap", "as many left", "a no with a gap")) {
    stream <- do.call(lw_stream, c(list(at_liar(lie)), terms))
    refused_with(lw_ask_stream(stream, "age >= 0"), "lapwing_disagreement")
    lw_close(stream)
  }
})

test_that("what was not agreed is no publication", {
  for (lie in c("another publication", "narrower", "another sd", "fewer cells")) {
    refused_with(lw_publish(at_liar(lie), "patient", c("sex", "bins(age, 0, 40, 110)"), within = 50))
  }
})

test_that("no redirection is followed", {
  refused_with(at_liar("elsewhere"))
})

test_that("the token goes over TLS, or to this machine itself, and is in no message", {
  for (url in c(
    "http://clinic.example.org", "ftp://127.0.0.1", "https://ana:secret@clinic.example.org", "nowhere",
    "https://clinic.example.org/?a=1", "http://127.0.0.1.example.org"
  )) {
    told <- refused_with(lw_connect(url, "lw_secret"), "lapwing_parameter")
    expect_false(grepl("lw_secret", conditionMessage(told)))
  }
  refused_with(lw_connect("https://127.0.0.1", "two\nlines"), "lapwing_parameter")
  told <- refused_with(lw_connect("http://127.0.0.1:9", "lw_secret", timeout = 2), "lapwing_server")
  expect_match(conditionMessage(told), "no server is reached")
  wrong <- refused_with(lw_connect(servers()$epsilon$url, "lw_wrong"), "lapwing_error")
  expect_false(grepl("lw_wrong", conditionMessage(wrong)))
})

test_that("mistakes are found before anything is sent", {
  clinic <- session_at()
  refused_with(lw_question("maximum", table = "patient"), "lapwing_parameter")
  refused_with(lw_question("count", table = "patient", wher = "age > 3"), "lapwing_parameter")
  refused_with(lw_ask(clinic, 12, epsilon = 1), "lapwing_parameter")
  refused_with(lw_stream(clinic, 20, 2, epsilom = 1), "lapwing_parameter")
  refused_with(lw_connect(servers()$epsilon$url, servers()$epsilon$token, population = "school"), "lapwing_error")
})
