test_that("a session says who asks, about which tables, and what is left, in every kind of budget", {
  for_each_budget(function(clinic, kind) {
    expect_output(print(clinic), "session of ana at clinic")
    expect_false(any(grepl("lw_", capture.output(print(clinic)), fixed = TRUE)))
    expect_setequal(unique(lw_columns(clinic)$table), c("patient", "visit"))
    expect_identical(lw_columns(clinic)$values[1], "F, M")
    expect_output(print(lw_budget(clinic)), "left")
  })
})

test_that("a question is previewed, asked and free when it is asked again, in every kind of budget", {
  for_each_budget(function(clinic, kind) {
    older <- lw_count("patient", "age >= 50", by = "sex")
    preview <- lw_preview(clinic, older, within = 20)
    expect_lte(max(preview$margin), 20)
    expect_false(preview$stored)
    answer <- lw_ask(clinic, preview)
    frame <- as.data.frame(answer)
    expect_identical(names(frame), c("sex", "answer", "answer_low", "answer_high"))
    expect_identical(frame$sex, c("F", "M"))
    expect_true(all(abs(frame$answer - 100) < 200))
    expect_true(all(frame$answer_high - frame$answer == preview$margin))
    expect_match(answer$receipt, "^lapwing:")
    again <- lw_ask(clinic, older, within = 20)
    expect_true(again$free)
    expect_identical(as.data.frame(again)$answer, frame$answer)
    expect_output(print(again), "asked before")
  })
})

test_that("what was paid in the other way of a budget with a delta is free, and anything else is refused", {
  clinic <- session_at()
  preview <- lw_preview(clinic, lw_count("patient", "age = 77"), within = 25)
  price <- preview$price
  told <- list(answer = list(free = TRUE, price = price, margin = list(answer = 24)))
  told$question <- sub('"scale":"[0-9]+/[0-9]+"', '"scale":"1/1"', preview$question)
  told$answer$price$epsilon <- "1"
  expect_identical(lapwing:::paid_before(clinic, told, preview)$margin, c(answer = 24))
  charged <- told
  charged$answer$free <- FALSE
  expect_error(lapwing:::paid_before(clinic, charged, preview), class = "lapwing_disagreement")
  wider <- told
  wider$answer$margin$answer <- 26
  expect_error(lapwing:::paid_before(clinic, wider, preview), class = "lapwing_disagreement")
  other <- told
  other$question <- sub("77", "78", told$question)
  expect_error(lapwing:::paid_before(clinic, other, preview), class = "lapwing_disagreement")
})

test_that("a price is one tenth if it is written as 0.1", {
  preview <- lw_preview(session_at(), lw_count("patient", "age = 3"), epsilon = 0.1)
  expect_identical(preview$price$epsilon, "0.1")
  expect_identical(preview$margin[["answer"]], 30)
  expect_error(lw_preview(session_at(), lw_count("patient"), epsilon = NaN), class = "lapwing_parameter")
})

test_that("every statistic is asked, in every kind of budget", {
  for_each_budget(function(clinic, kind) {
    asked <- list(
      rows = lw_rows("visit", by = "kind"), distinct = lw_distinct("patient", "sex"), total = lw_total("patient", "age"),
      mean = lw_mean("patient", "age", by = "sex"), proportion = lw_proportion("patient", "age > 20"),
      variance = lw_variance("patient", "age"), stddev = lw_stddev("patient", "age", sample = TRUE),
      median = lw_median("patient", "age"), quantiles = lw_quantiles("patient", "age", at = c(0.25, 0.75)),
      correlation = lw_correlation("patient", "age", "age * age"), covariance = lw_covariance("patient", "age", "2 * age"),
      top = lw_top("patient", "sex", 1), funnel = lw_funnel("patient", c("sex = 'M'", "age > 50")),
      bins = lw_count("patient", by = list("sex", lw_bins("age", c(0, 40, 80))))
    )
    for (name in names(asked)) {
      frame <- as.data.frame(lw_ask(clinic, asked[[name]], epsilon = "0.2"))
      expect_s3_class(frame, "data.frame")
      expect_gte(nrow(frame), 1)
    }
    mean <- as.data.frame(lw_ask(clinic, asked$mean, epsilon = "1"))
    expect_true(all(mean$answer > 30 & mean$answer < 70))
    expect_identical(nrow(as.data.frame(lw_ask(clinic, asked$bins, epsilon = "0.2"))), 4L)
  })
})

test_that("a SELECT has a price, bounds and a mark on what was cut", {
  clinic <- session_at()
  frame <- as.data.frame(lw_sql(clinic, "select sex, count(*) as n, avg(age) as a from patient group by sex", epsilon = 1))
  expect_identical(names(frame), c("sex", "n", "n_low", "n_high", "a", "a_low", "a_high"))
  expect_identical(lw_ask(clinic, lw_rows("visit", max_rows = 1), epsilon = 1)$cut, "answer")
  expect_error(lw_sql(clinic, "select max(age) from patient", epsilon = 1), "extreme", class = "lapwing_bad_question")
})

test_that("many questions are charged together, or none", {
  for_each_budget(function(clinic, kind) {
    asked <- list(young = lw_count("patient", "age < 30"), old = "select count(*) from patient where age > 70")
    answers <- lw_many(clinic, asked, epsilon = "0.5")
    expect_identical(names(answers), c("young", "old"))
    expect_true(all(vapply(answers, function(one) nrow(as.data.frame(one)) == 1L, TRUE)))
    expect_error(
      lw_many(clinic, list(lw_count("patient", "age < 31"), lw_count("nowhere")), epsilon = "0.5"), class = "lapwing_error"
    )
    expect_false(lw_preview(clinic, lw_count("patient", "age < 31"), epsilon = "0.5")$stored)
  })
})

test_that("a rehearsal is free and says what it is", {
  clinic <- session_at()
  before <- lw_budget(clinic)$amount
  expect_output(print(lw_rehearse(clinic, lw_count("patient"), epsilon = 1)), "made-up")
  expect_identical(lw_budget(clinic)$amount, before)
})

test_that("under one key a question is charged once, and another one is refused", {
  clinic <- session_at()
  first <- lw_ask(clinic, lw_count("patient", "age = 41"), epsilon = "0.2", key = "my study, question 1")
  left <- lw_budget(clinic)$amount
  again <- lw_ask(clinic, lw_count("patient", "age = 41"), epsilon = "0.2", key = "my study, question 1")
  expect_identical(as.data.frame(first)$answer, as.data.frame(again)$answer)
  expect_identical(lw_budget(clinic)$amount, left)
  expect_error(
    lw_ask(clinic, lw_count("patient", "age = 42"), epsilon = "0.2", key = "my study, question 1"),
    class = "lapwing_request_conflict"
  )
})

test_that("what is too dear is refused with the numbers", {
  told <- tryCatch(lw_ask(session_at(), lw_count("patient"), epsilon = 500), error = function(failure) failure)
  expect_s3_class(told, "lapwing_error")
  expect_match(conditionMessage(told), "500")
})

test_that("keys do not follow from the seed of R", {
  set.seed(1)
  one <- lapwing:::fresh_key()
  set.seed(1)
  expect_false(one == lapwing:::fresh_key())
})

test_that("an answer is drawn", {
  answer <- lw_ask(session_at(), lw_count("patient", by = "sex"), epsilon = 1)
  file <- tempfile(fileext = ".png")
  grDevices::png(file)
  print(plot(answer))
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
  expect_error(plot(answer, column = "nothing"), class = "lapwing_parameter")
})
