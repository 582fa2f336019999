test_that("a stream is paid for its yeses, and gives back the rest, in every kind of budget", {
  for_each_budget(function(clinic, kind) {
    preview <- lw_preview_stream(clinic, at_least = 150, yeses = 2, epsilon = 1)
    expect_output(print(preview), "to open")
    stream <- lw_stream(clinic, at_least = 150, yeses = 2, epsilon = 1)
    told <- lw_ask_stream(stream, c("age > 95", "age >= 0", "age < 0"))
    expect_identical(told$verdict, c(FALSE, TRUE, FALSE))
    expect_identical(told$price[c(1, 3)], c(0, 0))
    expect_true(is.na(told$low[1]) && told$low[2] <= told$high[2])
    one <- lw_ask_stream(stream, "sex = 'F' and age > 98")
    expect_false(one$verdict)
    expect_identical(lw_stream_status(stream)$yeses_left, 1)
    expect_lte(lw_close(stream), 1)
    expect_error(lw_ask_stream(stream, "age >= 1"), class = "lapwing_stream_closed")
  })
})

test_that("after the last yes there are no answers", {
  stream <- lw_stream(session_at(), at_least = 100, yeses = 1, epsilon = 2)
  told <- lw_ask_stream(stream, c("age >= 0", "age >= 1", "age >= 2"))
  expect_identical(told$verdict, c(TRUE, NA, NA))
  expect_error(lw_ask_stream(stream, "age >= 3"), class = "lapwing_stream_halted")
})
