-- shop
select count(*) from customers
select country, count(*) as customers from customers group by country order by customers desc
select sum(amount) as revenue from orders where status = 'paid'
select channel, sum(amount) as revenue, count(*) as orders, avg(amount) as basket from orders group by channel
select date_trunc('month', ordered) as month, sum(amount) as revenue from orders where ordered >= date '2024-01-01' group by 1 order by 1
select count(distinct customer_id) from orders where ordered >= '2024-01-01'
select 100.0 * sum(case when status = 'returned' then 1 else 0 end) / count(*) as return_rate from orders
select c.country, sum(o.amount) from orders o join customers c on c.customer_id = o.customer_id group by c.country
select count(*) from (select customer_id from orders group by customer_id having sum(amount) >= 1000) big
select avg(total) from (select customer_id, sum(amount) as total from orders group by customer_id) t
select median(total) from (select customer_id, sum(amount) as total from orders where status = 'paid' group by customer_id) t
select city, count(*) from customers group by city order by 2 desc
select city, avg(birth_year) from customers where city in ('Bern', 'Basel') group by city
select c.city, sum(o.amount) as revenue from orders o join customers c using (customer_id) where c.city in ('Bern', 'Wien', 'Lyon') group by c.city
select case when amount < 50 then 'small' when amount < 500 then 'medium' else 'large' end as size, count(*) from orders group by size
select year(ordered) as y, month(ordered) as m, count(*) from orders group by y, m order by y, m
select count(*) from customers c where not exists (select * from orders o where o.customer_id = c.customer_id)
select count(*) from customers where signed_up >= current_date - interval '1 year'
select week(ordered) as week, count(*) from orders where year(ordered) = 2024 group by week order by week
select channel, count(*) * 100.0 / sum(count(*)) over () as share from orders group by channel
select country || '-' || segment as kind, count(*) from customers group by 1
select avg(order_mean) from (select customer_id, avg(amount) as order_mean from orders group by customer_id) t
select coupon is not null as with_coupon, avg(amount), avg(items) from orders group by 1
select dayname(ordered) as weekday, sum(amount) from orders group by weekday
show tables

-- insurer
select product, count(*), sum(premium), avg(premium) from policies group by product
select cause, count(*) as claims, avg(paid) as mean_paid from claims where settled group by cause
select sum(paid) from claims where year(reported) = 2023
select count(distinct holder_id) from claims
select count(distinct holder_id) * 1.0 / (select count(*) from holders) as frequency from claims
select h.sex, avg(c.paid) from claims c join holders h on h.holder_id = c.holder_id group by h.sex
select p.product, sum(c.paid) from claims c join policies p on p.policy_id = c.policy_id and p.holder_id = c.holder_id group by p.product
select p.product, count(*) from claims c join policies p on c.policy_id = p.policy_id group by p.product
select floor(date_diff('year', born, current_date) / 10) * 10 as age_band, count(*) from holders group by 1 order by 1
select (bonus_class // 5) * 5 as class, count(*) from holders group by 1 order by 1
select canton, count(*) from holders group by canton having count(*) > 10
select canton, avg(bonus_class) from holders group by canton
select quantile_cont(paid, 0.95) from claims
select approx_quantile(paid, 0.5) from claims where cause = 'hail'
select count(*) from policies where ends is null or ends > date '2024-06-30'
select avg(ends - starts) from policies where ends is not null
select year(reported) as year, cause, sum(paid) from claims group by all order by all
select count(*) from holders h where (select sum(c.paid) from claims c where c.holder_id = h.holder_id) > 20000
select count(*) from (select holder_id, count(*) as n from claims group by holder_id having count(*) >= 3) t
select sum(paid) / count(distinct holder_id) as per_holder from claims
select sex, corr(bonus_class, date_diff('year', born, date '2025-01-01')) from holders where sex is not null group by sex
select greatest(bonus_class, 5) as class, count(*) from holders group by 1 order by 1
select product, stddev_samp(premium), var_samp(premium) from policies group by product order by product
select avg(s) from (select holder_id, sum(premium) as s from policies where product <> 'life' group by holder_id) x
describe claims

-- payroll
select department, avg(salary) as mean_salary, count(*) as heads from employees group by department order by mean_salary desc
select gender, median(salary) from employees group by gender
select avg(salary) filter (where gender = 'female') / avg(salary) filter (where gender = 'male') as ratio from employees
select department, gender, avg(salary) from employees group by department, gender order by 1, 2
select sum(gross) as cost from payslips where month between date '2024-01-01' and date '2024-12-31'
select count(*) from employees where salary > 100000 and not full_time
select grade, count(*), avg(salary) from employees group by grade order by grade
select regr_slope(salary, grade) as slope, regr_intercept(salary, grade) as intercept from employees
select regr_r2(salary, grade) from employees
select covar_samp(salary, grade) from employees
select date_diff('year', hired, current_date) as years, count(*) from employees group by years order by years
select avg(date_diff('month', hired, current_date)) / 12 as tenure from employees
select office, avg(salary) from employees where office in ('Zurich', 'Geneva') group by office
select office, count(*) as n from employees group by office order by n desc limit 2
select quarter(month) as q, sum(overtime) from payslips where year(month) = 2024 group by q order by q
select avg(yearly) from (select employee_id, sum(gross) as yearly from payslips where year(month) = 2023 group by employee_id) t
select count(*) from employees e where exists (select 1 from payslips p where p.employee_id = e.employee_id and p.overtime > 60)
select e.department, sum(p.overtime) as overtime from payslips p join employees e using (employee_id) group by 1
select e.office, avg(p.bonus) from payslips p join employees e using (employee_id) where e.office = 'Chur' group by e.office
select avg(coalesce(bonus, 0)) from payslips
select percentile_cont(0.25) within group (order by salary), percentile_cont(0.75) within group (order by salary) from employees
select count(*) filter (where grade >= 9) * 100.0 / count(*) as senior_pct from employees
select salary // 10000 * 10000 as band, count(*) from employees group by band order by band
select department, rank() over (order by avg(salary) desc) as place, avg(salary) from employees group by department
select column_name, data_type from information_schema.columns where table_name = 'employees'

-- school
select subject, avg(mark), count(*) from marks group by subject order by subject
select s.sex, m.subject, avg(m.mark) from marks m join students s on s.student_id = m.student_id group by 1, 2
select count(*) from students where form between 7 and 9
select form, count(*) from students group by form order by form
select avg(mark >= 4) as pass_rate from marks where subject = 'maths'
select count(*) from marks where mark < 4
select sum(lessons) from absences where not excused
select s.house, sum(a.lessons) as missed from absences a join students s using (student_id) group by s.house order by missed desc
select count(*) from (select student_id, avg(mark) as gpa from marks group by student_id) t where gpa >= 5
select avg(gpa) from (select student_id, avg(mark) as gpa from marks group by student_id) t
select median(gpa) from (select student_id, avg(mark) as gpa from marks group by student_id) t
select avg(missed) from (select student_id, sum(lessons) as missed from absences group by student_id) t
select count(distinct student_id) from absences where month(day) in (1, 2, 12)
select isodow(day) as weekday, sum(lessons) from absences group by weekday order by weekday
select round(mark) as rounded, count(*) from marks group by rounded order by rounded
select teacher, count(*) from marks group by teacher
select teacher, avg(mark) from marks group by teacher
select teacher, avg(mark) from marks where teacher in ('Frei', 'Keller') group by teacher
select length(house) as letters, count(*) from students group by 1
select house, takes_bus, count(*) from students group by house, takes_bus
select form % 2 = 0 as even, count(*) from students group by 1
select count(*) from students s left join absences a on a.student_id = s.student_id where a.student_id is null
select subject, quantile_cont(mark, 0.5) as med from marks group by subject
select 'boys' as who, avg(form) as form from students where sex = 'm' union all select 'girls', avg(form) from students where sex = 'f'
select date_trunc('week', day) as week, sum(lessons) from absences where day >= date '2024-09-01' group by week order by week

-- hospital
select ward, count(*) as stays, avg(date_diff('day', admitted, discharged)) as los from stays group by ward
select median(discharged - admitted) from stays where ward = 'surgery'
select count(distinct patient_id) from stays where diagnosis = 'I10'
select diagnosis, count(distinct patient_id) from stays group by diagnosis order by 2 desc limit 3
select diagnosis, count(*) from stays where diagnosis in ('I10', 'E11') group by diagnosis
select left(diagnosis, 1) as chapter, count(*) from stays group by chapter
select test, avg(result), stddev(result) from labs where result is not null group by test
select p.sex, avg(l.result) from labs l join patients p on p.patient_id = l.patient_id where l.test = 'glucose' group by p.sex
select avg(weight / (height / 100.0) ^ 2) as bmi from patients
select avg(weight) from patients where smoker
select smoker, count(*) from patients group by smoker
select blood_group, count(*) as n, count(*) / sum(count(*)) over () as share from patients group by blood_group order by n desc
select count(*) from stays s join stays r on r.patient_id = s.patient_id and r.admitted > s.discharged and r.admitted <= s.discharged + 30
select count(distinct s.patient_id) from stays s join stays r on r.patient_id = s.patient_id where r.admitted > s.discharged and r.admitted <= s.discharged + interval 30 day
select count(*) from labs l join stays s on s.stay_id = l.stay_id where s.ward = 'icu'
select avg(l.result) from labs l join stays s on s.stay_id = l.stay_id and s.patient_id = l.patient_id where s.ward = 'icu' and l.test = 'crp'
with first as (select patient_id, min(admitted) as d from stays group by patient_id) select year(d) as y, count(*) from first group by y order by y
with r as (select *, row_number() over (partition by patient_id order by admitted) as rn from stays) select ward, count(*) from r where rn = 1 group by ward
select avg(age(admitted, born)) from stays join patients using (patient_id)
select count(*) from patients where datediff('year', born, current_date) >= 65
select avg(m) from (select patient_id, avg(result) as m from labs where test = 'sodium' group by patient_id) t
select hour(admitted), count(*) from stays group by 1
select count(*) from patients where patient_id in (select patient_id from stays where ward = 'icu') and patient_id not in (select patient_id from labs)
select year(admitted) as y, count(*) as n, count(*) - lag(count(*)) over (order by year(admitted)) as change from stays group by 1 order by 1
select table_name from information_schema.tables

-- bikes
select start_station, count(*) as rides from rides group by start_station order by rides desc limit 3
select start_station, end_station, count(*) from rides group by 1, 2
select avg(minutes), median(minutes), quantile_cont(minutes, 0.9) from rides
select electric, avg(km), avg(minutes) from rides group by electric
select sum(km) / count(distinct rider_id) as km_per_rider from rides
select sum(km) * 60 / sum(minutes) as kmh from rides
select plan, count(*) from riders group by plan
select r.plan, count(*) as rides, avg(d.km) from rides d join riders r on r.rider_id = d.rider_id group by r.plan
select weather, avg(minutes) from rides group by weather
select weather, count(*) from rides group by weather
select (age // 10) * 10 as decade, count(*) from riders where age is not null group by decade order by decade
select month(day) as month, avg(km) from rides group by month order by month
select date_trunc('quarter', day) as q, count(*) from rides group by q order by q
select count(*) from rides where start_station = end_station
select avg(start_station = end_station) as round_trips from rides
select dayofweek(day) in (0, 6) as weekend, count(*), avg(minutes) from rides group by weekend
select count(*) from rides where day = date '2024-07-14'
select count(*) from (select rider_id, count(*) as n from rides where year(day) = 2024 group by rider_id) t where n > 2
select n, count(*) from (select rider_id, count(*) as n from rides group by rider_id) t group by n order by n
select avg(total_km), stddev(total_km) from (select rider_id, sum(km) as total_km from rides group by rider_id) t
select count() from rides where electric
select count(*) from riders where age between 18 and 30 and plan in ('month', 'year') and home_station <> 'Park'
select year(day) as y, sum(sum(km)) over (order by year(day)) as running from rides group by 1 order by 1
select start_station, approx_count_distinct(rider_id) from rides group by start_station
select least(minutes, 60) as m, count(*) from rides group by m order by m
