library(testthat)
library(lapwing)

test_check("lapwing")
