-- library
select count(*) from members
select branch, count(*) as n from members group by branch order by n desc
select count(*) from loans where returned is null
select genre, count(*) as loans, count(distinct member_id) as readers from loans group by genre
select avg(returned - lent) as days_out from loans where returned is not null
select genre, median(returned - lent) from loans group by genre
select round(100.0 * avg(case when renewals > 0 then 1 else 0 end), 1) as pct_renewed from loans
select year(lent) as y, quarter(lent) as q, count(*) from loans group by y, q order by y, q
select m.branch, sum(l.fine) as fines from members m join loans l on l.member_id = m.member_id group by m.branch order by fines desc
select count(*) from members where member_id not in (select member_id from loans where lent >= '2024-01-01')
select kind, avg(n) from (select m.member_id, m.kind, count(l.loan_id) as n from members m left join loans l on l.member_id = m.member_id group by m.member_id, m.kind) t group by kind
select count(*) from (select member_id from loans group by member_id having sum(fine) > 20) t
select avg(total), median(total) from (select member_id, sum(fine) as total from loans group by member_id) as f
select postcode, count(*) from members group by postcode order by count(*) desc limit 5
select postcode, count(*), avg(year(joined)) from members group by postcode
select genre, count(*) * 100.0 / sum(count(*)) over () as pct from loans group by genre order by pct desc
select genre, count(*) from loans where genre <> 'comics' group by genre having count(*) >= 20
select date_trunc('month', lent) as month, count(*) as loans, sum(count(*)) over (order by date_trunc('month', lent)) as so_far from loans where lent >= date '2024-01-01' group by 1
select case when renewals = 0 then 'none' when renewals between 1 and 2 then 'some' else 'many' end as renewed, count(*), avg(fine) from loans group by 1
select count(*) filter (where kind = 'child') as children, count(*) filter (where kind = 'senior') as seniors, count(*) as everybody from members
select count(distinct l.member_id) from loans l join members m using (member_id) where l.genre = 'novel' and m.kind = 'adult' and l.fine > 0
select floor((year(current_date) - year(born)) / 10) * 10 as age_group, count(*) from members group by age_group order by age_group
select 'overdue' as what, count(*) as n from loans where returned is null and lent < current_date - 28 union all select 'paid a fine', count(*) from loans where fine > 0
select avg(fine) as mean_fine, stddev(fine) as sd, count(*) as n from loans where fine > 0 group by genre, year(lent)
select max(renewals) from loans

-- homes
select avg(kwh) from readings where meter = 'electric'
select meter, avg(kwh), stddev(kwh), count(kwh) from readings group by meter
select heating, count(*) as homes, avg(area) as mean_area, avg(rooms) as mean_rooms from households group by heating order by homes desc
select month(day) as month, avg(indoor) as temperature from readings group by month(day) order by month(day)
select dayofweek(day) as weekday, avg(kwh) from readings where meter = 'gas' group by weekday order by weekday
select h.heating, avg(r.kwh) from readings r inner join households h on h.household_id = r.household_id where r.meter = 'gas' and r.day between '2023-11-01' and '2024-03-31' group by h.heating
select region, avg(area) from households where region in ('north', 'coast') group by region
select region, avg(area) as mean_area from households group by region order by mean_area desc
select h.region, avg(r.kwh) from readings r join households h using (household_id) group by h.region
select corr(area, rooms) from households
select regr_slope(kwh, indoor), regr_intercept(kwh, indoor) from readings where meter = 'gas'
select count(*) from households where area / rooms > 30
select count(*) from readings where indoor < 18 or indoor > 26
select count(distinct household_id) from readings where kwh > 40 and meter = 'electric'
select quantile_cont(kwh, [0.05, 0.25, 0.5, 0.75, 0.95]) from readings where meter = 'electric'
select width_bucket(area, 0, 300, 6) as bucket, count(*) from households group by bucket order by bucket
select round(area, -1) as size, count(*) from households group by size order by size
select year(day) as y, sum(kwh) as used, sum(kwh) - lag(sum(kwh)) over (order by year(day)) as change from readings where meter = 'electric' group by y
select avg(yearly) from (select household_id, sum(kwh) as yearly from readings where year(day) = 2023 and meter = 'electric' group by household_id) t
select heating, avg(used) from (select h.household_id, h.heating, sum(r.kwh) as used from households h join readings r on r.household_id = h.household_id group by h.household_id, h.heating) t group by heating
select count(*) from households h where (select avg(kwh) from readings r where r.household_id = h.household_id and r.meter = 'electric') > 25
select solar, avg(area) from households where rooms >= 4 group by solar
select isodow(day) >= 6 as weekend, avg(kwh), median(kwh) from readings group by weekend
select sum(kwh * 0.25) as cost from readings where meter = 'electric'
select greatest(rooms, 2) as rooms, count(*) from households group by 1 order by 1

-- university
select field, count(*) from students group by field
select semester, count(*) as enrolments, sum(credits) as credits from enrolments group by semester order by semester
select avg(grade) from enrolments where passed
select field, avg(e.grade) from students s join enrolments e on e.student_id = s.student_id group by field having avg(e.grade) > 3
select course, count(*) from enrolments group by course order by 2 desc
select course, avg(grade) from enrolments group by course
select course, count(*), avg(grade), sum(credits) from enrolments where semester = 'autumn' group by course
select gender, count(*) as n, round(100.0 * count(*) / sum(count(*)) over (), 1) as pct from students group by gender
select field, gender, count(*) from students group by field, gender order by 1, 2
select avg(cast(passed as int)) as pass_rate from enrolments
select field, avg(case when passed then 1.0 else 0.0 end) as pass_rate from enrolments join students using (student_id) group by field order by pass_rate desc
select count(*) from students where student_id in (select student_id from enrolments where passed group by student_id having sum(credits) >= 30)
select avg(credits) from (select student_id, sum(credits) as credits from enrolments where passed group by student_id) t
select count(*) from (select student_id, avg(grade) as gpa from enrolments group by student_id) g where gpa >= 4
select case when gpa >= 5 then 'A' when gpa >= 4 then 'B' else 'C' end as class, count(*) from (select student_id, avg(grade) as gpa from enrolments where grade is not null group by student_id) g group by 1
select country, count(*) from students group by country having count(*) > 5 order by count(*) desc
select year(started) as cohort, count(*) from students group by cohort order by cohort
select year(started) as cohort, field, count(*) from students where year(started) >= 2021 group by all order by all
select year(started) - birth_year as age_at_start, count(*) from students group by 1 order by 1
select variance(grade), var_pop(grade) from enrolments
select mode(field) from students
select count(*) - count(grade) as without_grade from enrolments
select sum(case when passed then credits else 0 end) * 1.0 / sum(credits) as share_of_credits from enrolments
with passed as (select student_id, count(*) as n from enrolments where passed group by student_id) select s.field, avg(p.n) from students s join passed p on p.student_id = s.student_id group by s.field
select s.field, count(distinct e.course) from enrolments e join students s on s.student_id = e.student_id group by s.field

-- bank
select kind, count(*), sum(amount), avg(amount) from bookings group by kind
select sum(amount) as balance from bookings
select sum(case when amount < 0 then -amount else 0 end) as spent, sum(case when amount > 0 then amount else 0 end) as earned from bookings
select date_trunc('month', booked) as month, sum(amount) as net from bookings where kind <> 'fee' group by month order by month
select avg(balance) from (select client_id, sum(amount) as balance from bookings group by client_id) t
select count(*) from (select client_id, sum(amount) as balance from bookings group by client_id) t where balance < 0
select count(*) from bookings where abs(amount) >= 1000
select merchant, sum(amount) from bookings where kind = 'card' group by merchant order by 2 limit 10
select merchant, count(*) as n, count(distinct client_id) as clients from bookings where merchant is not null group by merchant
select c.segment, avg(b.amount) from bookings b, clients c where b.client_id = c.client_id and b.kind = 'card' group by c.segment
select segment, avg(income), median(income), stddev_samp(income) from clients group by segment
select case when income < 30000 then 'low' when income < 80000 then 'middle' else 'high' end as class, segment, count(*) from clients group by 1, 2
select count(*) from clients where income is null
select coalesce(income, 0) > 50000 as above, count(*) from clients group by above
select count(*) from clients where opened between current_date - interval '6 months' and current_date
select extract(year from opened) as year, count(*) as new_clients, sum(count(*)) over (order by extract(year from opened)) as clients from clients group by 1 order by 1
select datediff('month', opened, current_date) // 12 as years, count(*) from clients group by years order by years
select online, count(*) * 1.0 / (select count(*) from clients) as share from clients group by online
select avg(n) from (select client_id, count(*) as n from bookings where kind = 'card' group by client_id) t
select count(distinct client_id) from bookings where kind = 'cash' and amount <= -500 and booked >= date '2024-01-01'
select rank() over (order by sum(amount) desc) as place, kind, sum(amount) as total from bookings group by kind
select last_day(booked) as month_end, sum(amount) from bookings where booked >= '2024-07-01' group by 1 order by 1
select sqrt(avg(amount * amount)) from bookings
select sum(amount) filter (where kind = 'fee') / count(distinct client_id) as fee_per_client from bookings
select sum(amount) from bookings where kind = 'card' and extract(month from booked) = 12

-- emergency
select triage, count(*) as visits, avg(waited) as mean_wait, median(waited) as median_wait from visits group by triage order by triage
select count(*) from visits where waited > 240
select avg(waited > 240) as breach from visits
select disposition, count(*) from visits group by disposition
select 100.0 * count(*) filter (where disposition = 'admitted') / count(*) as admission_rate from visits
select triage, 100.0 * count(*) filter (where disposition = 'admitted') / count(*) as admission_rate from visits group by triage
select month(arrived), triage, count(*) from visits group by 1, 2 order by 1, 2
select p.sex, v.disposition, count(*) from visits v join patients p on p.patient_id = v.patient_id group by p.sex, v.disposition
select floor(age / 20) * 20 as age_band, avg(waited) from visits join patients using (patient_id) group by 1 order by 1
select case when p.age < 18 then 'child' when p.age >= 65 then 'old' else 'adult' end as grp, count(distinct v.patient_id) from patients p join visits v on v.patient_id = p.patient_id group by grp
select insurer, avg(waited) from visits group by insurer
select insurer, count(*) from visits where insurer is not null group by insurer order by insurer
select drug, count(distinct patient_id) as patients from prescriptions group by drug having count(distinct patient_id) >= 10 order by patients desc
select drug, avg(dose), avg(days) from prescriptions where drug in ('ibuprofen', 'morphine') group by drug
select count(distinct v.patient_id) from visits v join prescriptions r on r.visit_id = v.visit_id where r.drug = 'morphine' and v.triage <= 2
select r.drug, avg(v.waited) from prescriptions r join visits v on v.visit_id = r.visit_id and v.patient_id = r.patient_id where r.drug in ('ibuprofen', 'morphine') group by r.drug
select v.triage, count(*) as prescriptions, avg(r.days) from prescriptions r join visits v on v.visit_id = r.visit_id group by v.triage
select count(*) from (select patient_id from visits group by patient_id having count(*) >= 3)
select visits, count(*) as patients from (select patient_id, count(*) as visits from visits where year(arrived) = 2024 group by patient_id) t group by visits order by visits
select count(*) from visits v where exists (select 1 from visits w where w.patient_id = v.patient_id and w.arrived > v.arrived and w.arrived <= v.arrived + 3)
with last as (select *, row_number() over (partition by patient_id order by arrived desc) as rn from visits) select disposition, avg(waited) from last where rn = 1 group by disposition
select corr(age, waited) from visits join patients using (patient_id)
select avg(waited) - (select avg(waited) from visits where triage = 1) as longer from visits where triage = 5
select count(distinct insurer) from visits
select strftime(arrived, '%Y-%m') as month, count(*) from visits where arrived >= date '2024-01-01' group by 1 order by 1

-- hotel
select room, count(*) as bookings, avg(price) as price from stays group by room order by bookings desc
select avg(checkout - checkin) as nights from stays where not cancelled
select sum(price * nights) as revenue from stays where cancelled = false and checkin >= '2024-01-01' and checkin < '2025-01-01'
select channel, avg(cast(cancelled as integer)) as cancel_rate from stays group by channel
select channel, 1.0 * sum(cancelled::int) / count(*) as cancel_rate, count(*) as n from stays group by channel order by cancel_rate desc
select g.country, count(*) from stays s join guests g on g.guest_id = s.guest_id group by g.country
select g.country, sum(s.price) from stays s join guests g on g.guest_id = s.guest_id where g.country in ('IT', 'JP', 'US') group by g.country order by 2 desc
select country, avg(2024 - birth_year) as age from guests group by country
select vip, avg(spent) from (select g.guest_id, g.vip, sum(s.price) as spent from guests g join stays s on s.guest_id = g.guest_id group by g.guest_id, g.vip) x group by vip
select nights, count(*) from stays where nights <= 7 group by nights order by nights
select least(nights, 7) as nights, count(*), avg(price) from stays group by 1 order by 1
select stars, count(*) from reviews group by stars order by stars desc
select avg(stars) as score, count(*) as reviews from reviews where day > current_date - interval 1 year
select s.room, avg(r.stars) from reviews r join stays s on s.stay_id = r.stay_id group by s.room
select s.channel, avg(r.stars) as score from reviews r join stays s using (stay_id, guest_id) group by s.channel order by score desc
select count(*) from stays s left join reviews r on r.stay_id = s.stay_id where r.stay_id is null
select to_char(checkin, 'YYYY-MM') as month, count(*) from stays group by 1
select make_date(year(checkin), month(checkin), 1) as month, count(*) from stays where checkin >= date '2024-01-01' group by 1 order by 1
select concat(room, ' / ', channel) as what, count(*) from stays group by what
select monthname(checkin) as month, avg(price) from stays group by monthname(checkin)
select year(checkin) as y, avg(price) as price, avg(avg(price)) over (order by year(checkin) rows between 1 preceding and current row) as smooth from stays group by y order by y
select count(*) from guests where upper(country) like 'U%' and length(country) = 2
select quantile_cont(price, 0.5) filter (where room = 'suite') as suite, quantile_cont(price, 0.5) filter (where room = 'single') as single from stays
select avg(price) from stays where price between 50 and 500 and room in ('single', 'double') and checkin - booked > 30
describe stays
