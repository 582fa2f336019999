select year(day), count(*) from visits where day >= date '2015-01-01' and kind in ('ER', 'other') group by year(day)
