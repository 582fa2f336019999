test_that("numbers are written as they were meant", {
  expect_identical(lapwing:::exact_text("epsilon", 0.1), "0.1")
  expect_identical(lapwing:::exact_text("epsilon", 1e-9), "0.000000001")
  expect_identical(lapwing:::exact_text("epsilon", "1/3"), "1/3")
  for (wrong in list(NaN, Inf, c(1, 2), "x", NULL, NA, "1; drop")) {
    expect_error(lapwing:::exact_text("epsilon", wrong), class = "lapwing_parameter")
  }
  expect_equal(lapwing:::told_amount("1/4"), 0.25)
  expect_true(is.na(lapwing:::told_amount("nan")))
})

test_that("a digest is the one of the server", {
  expect_identical(
    lapwing:::digest_of('a"b'), "14ca67106e8063cad91f941e5c3760dcb4c1ddb2d8c86a65fa93e75ca425004b"
  )
})

test_that("a text of a server reaches no terminal raw", {
  expect_identical(lapwing:::readable("\033]0;owned\007"), " ]0;owned ")
  expect_identical(lapwing:::readable("\u202eabc"), " abc")
})
