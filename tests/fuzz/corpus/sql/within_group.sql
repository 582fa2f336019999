select percentile_cont(0.25) within group (order by age) from patients
