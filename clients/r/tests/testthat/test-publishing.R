test_that("tables are published for one price, in every kind of budget", {
  for_each_budget(function(clinic, kind) {
    columns <- c("sex", older = "bins(age, 0, 40, 110)")
    names(columns)[1] <- "sex"
    preview <- lw_preview_publish(clinic, "patient", columns, within = 60)
    expect_lte(preview$margin, 60)
    published <- lw_publish(clinic, "patient", columns, within = 60)
    frame <- as.data.frame(published)
    expect_identical(names(frame), c("sex", "older", "people", "people_low", "people_high"))
    expect_identical(nrow(frame), 9L)
    expect_identical(frame$sex[1:3], rep("F", 3))
    women <- frame$people[frame$sex == "F" & frame$older == "from 0 to 39"]
    expect_lt(abs(women - 80), 400)
    expect_output(print(published), "receipt lapwing:")
    expect_true(lw_publish(clinic, "patient", columns, within = 60)$free)
  })
})
