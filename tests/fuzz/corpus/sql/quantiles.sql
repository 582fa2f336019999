select quantile_cont(age, [0.1, 0.5, 0.9]) from patients where sex = 'F'
