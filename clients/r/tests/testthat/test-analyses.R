price_for <- function(kind, epsilon = 0.5) if (kind == "rho") list(rho = epsilon / 100) else list(epsilon = epsilon)

gaussian_for <- function(kind) list(rho = 0.3)

test_that("two groups are compared as one count, and free again", {
  for_each_budget(function(clinic, kind) {
    assume <- list(people = c(200, 200), shares = c(0.1, 0.3))
    words <- list(clinic, "patient", "age >= 50", "sex")
    preview <- do.call(lw_preview_compare, c(words, list(assume = assume), price_for(kind)))
    expect_gt(preview$power, 0)
    found <- do.call(lw_compare, c(words, price_for(kind)))
    expect_identical(as.data.frame(found)$group, c("F", "M"))
    expect_output(print(found), "receipt lapwing:")
    expect_true(do.call(lw_compare, c(words, price_for(kind)))$free)
  })
})

test_that("survival curves are told with bands", {
  for_each_budget(function(clinic, kind) {
    words <- list(clinic, "patient", time = "age", event = "sex = 'F'", grid = seq(0, 100, 25))
    frame <- as.data.frame(do.call(lw_survival, c(words, price_for(kind, 1))))
    expect_identical(frame$time, c(25, 50, 75, 100))
    expect_true(all(diff(frame$survived) <= 0))
    frame <- as.data.frame(do.call(lw_survival, c(words, list(by = "age >= 10"), price_for(kind, 1))))
    expect_identical(nrow(frame), 8L)
  })
})

test_that("how much a bound of rows cuts is told, and a cut number says so", {
  for_each_budget(function(clinic, kind) {
    words <- c(list(clinic, "visit", up_to = 4), price_for(kind, 1))
    preview <- do.call(lw_preview_rows_a_person, words)
    expect_true(preview$affordable)
    found <- do.call(lw_rows_a_person, words)
    frame <- as.data.frame(found)
    expect_identical(names(frame), c("max_rows", "share", "low", "high"))
    expect_lt(frame$share[frame$max_rows == 2], frame$share[frame$max_rows == 1])
    expect_true(all(diff(found$enough$max_rows) >= 0))
    answer <- do.call(lw_ask, c(list(clinic, lw_rows("visit")), price_for(kind)))
    expect_output(print(answer), "lw_rows_a_person")
  })
})

test_that("a regression is fitted where the budget pays for it, and refused where not", {
  for_each_budget(function(clinic, kind) {
    if (kind == "epsilon") {
      told <- tryCatch(lw_regress(clinic, "patient", age ~ sex, epsilon = 1), error = function(failure) failure)
      expect_match(conditionMessage(told), "no pure budget pays")
      return()
    }
    words <- c(list(clinic, "patient", age ~ sex), gaussian_for(kind))
    expect_true(do.call(lw_preview_regress, words)$affordable)
    found <- do.call(lw_regress, words)
    expect_identical(as.data.frame(found)$term, c("(intercept)", "sex[M]"))
    expect_true(do.call(lw_regress, words)$free)
  })
})

test_that("a dashboard is opened once, published, and found by its name", {
  for_each_budget(function(clinic, kind) {
    words <- c(list(clinic, "visits", "visit", "day", "2024-01-01", releases = 2), price_for(kind))
    board <- do.call(lw_dashboard, words)
    expect_identical(nrow(as.data.frame(board)), 0L)
    board <- lw_publish_release(board, today = "2024-03-05")
    frame <- as.data.frame(board)
    expect_identical(frame$until, c("2024-01", "2024-02"))
    expect_true(all(frame$people_low < frame$people_high))
    again <- lw_dashboard(clinic, "visits")
    expect_identical(as.data.frame(again, counts = "single"), as.data.frame(board, counts = "single"))
    expect_error(lw_dashboard(clinic, "another"), "none of your dashboards")
  })
})

test_that("a synthetic table gives as many rows of made-up people as are wanted", {
  for_each_budget(function(clinic, kind) {
    columns <- c(sex = "sex", older = "age >= 50")
    made <- do.call(lw_synthesize, c(list(clinic, "patient", columns), price_for(kind, 2)))
    rows <- lw_synthetic_rows(made, 30, seed = 4)
    expect_identical(names(rows), c("sex", "older"))
    expect_identical(rows, lw_synthetic_rows(made, 30, seed = 4))
    expect_true(all(rows$sex %in% c("F", "M", "other or missing")))
    expect_output(print(made), "made-up people")
    expect_true(do.call(lw_synthesize, c(list(clinic, "patient", columns), price_for(kind, 2)))$free)
  })
})

test_that("an explorer guesses for nothing, and counts until its paid answers are used", {
  for_each_budget(function(clinic, kind) {
    columns <- c(sex = "sex", age = "bins(age, 0, 50, 121)")
    words <- c(list(clinic, "patient", columns, yeses = 2), price_for(kind, 2))
    expect_true(do.call(lw_preview_explorer, words)$affordable)
    explorer <- do.call(lw_explorer, words)
    guessed <- lw_guess(explorer, c("sex = 'F'", "age >= 50"))
    expect_true(all(guessed$free))
    counted <- lw_explore(explorer, "sex = 'F'")
    expect_true(counted$checked)
    bought <- lw_explore(explorer, "age >= 50", buy = TRUE)
    expect_false(bought$free)
    expect_lte(bought$low, bought$people)
    lw_close_explorer(explorer)
    expect_output(print(explorer), "0 paid answers left")
  })
})

test_that("what was not agreed is no analysis", {
  compare <- function(lie) lw_compare(at_liar(lie), "patient", "age >= 30", "sex", epsilon = 0.2)
  refused_with(compare("a comparison of others"), "lapwing_disagreement")
  refused_with(compare("a cheap comparison"), "lapwing_disagreement")
  refused_with(compare("beyond its bounds"), "lapwing_disagreement")
  rows <- function(lie) lw_rows_a_person(at_liar(lie), "visit", epsilon = 0.2)
  refused_with(rows("more than all"))
  made <- function(lie) lw_synthesize(at_liar(lie), "patient", c("sex", "age >= 50"), epsilon = 1)
  refused_with(made("another synthesis"), "lapwing_disagreement")
  opened <- lw_explorer(at_liar("more answers"), "patient", c("sex", "bins(age, 0, 50, 121)"), epsilon = 1, yeses = 1)
  refused_with(lw_explore(opened, "age >= 50", buy = TRUE), "lapwing_disagreement")
})
