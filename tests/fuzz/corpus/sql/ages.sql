select bins(age, 0, 18, 65, 120), count(*), avg(bmi) from patients where age(born) >= 18 and has(visits, age(born, day) >= 18, 2) group by bins(age, 0, 18, 65, 120)
