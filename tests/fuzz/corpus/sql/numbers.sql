select count(*) from patients where age < 1e99 and age > -1e-99 and bmi <> 0.1234567890123456789012345678901234567890
