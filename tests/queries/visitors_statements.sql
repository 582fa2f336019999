-- lending
select count(*) from readers where member_type = 'student'
select branch, count(*) as loans, count(distinct reader_id) as readers from loans group by branch order by loans desc
select kind, avg(returned - lent) as days_out from loans where returned is not null group by kind
select count(*) from loans where returned > due
select kind, 100.0 * count(*) filter (where returned > due) / count(*) as late_pct from loans group by kind order by late_pct desc
select district, avg(n) from (select r.reader_id, r.district, count(l.loan_id) as n from readers r left join loans l on l.reader_id = r.reader_id group by 1, 2) t group by district
select count(*) from readers r where not exists (select 1 from loans l where l.reader_id = r.reader_id and l.lent >= date '2024-01-01')
select extract(year from lent) as y, extract(quarter from lent) as q, count(*) from loans group by y, q order by y, q
select year(lent) || ' Q' || quarter(lent) as quarter, sum(fine) from loans group by quarter order by quarter
select monthname(lent), count(*) from loans where year(lent) = 2023 group by 1
select member_type, median(renewals) from loans join readers using (reader_id) group by member_type
select avg(fine / (returned - due)) from loans where returned > due
select sum(fine) / sum(returned - due) as per_day from loans where returned > due
select count(*) from loans where date_diff('day', lent, coalesce(returned, current_date)) > 60
select percentile_cont(0.5) within group (order by returned - lent) from loans where kind = 'book'
select count(distinct (reader_id, branch)) from loans
select kind, branch, count(*) from loans group by rollup (kind, branch)
select case when renewals = 0 then 'never' when renewals = 1 then 'once' else 'often' end as renewed, count(*) from loans group by renewed
select member_type, count(*) * 1.0 / (select count(*) from readers) as share from readers group by member_type
with heavy as (select reader_id from loans group by reader_id having count(*) >= 5) select r.district, count(*) from heavy h join readers r on r.reader_id = h.reader_id group by r.district
select avg(first_loan) from (select r.reader_id, min(l.lent - r.joined) as first_loan from readers r join loans l on l.reader_id = r.reader_id group by r.reader_id) x
select count(*) from (select reader_id from loans group by reader_id having max(returned - lent) > 90)
select 2024 - born_year as age, count(*) from readers where born_year is not null group by age having count(*) > 2 order by age
select width_bucket(2024 - born_year, 0, 100, 5) as band, count(*) from readers where born_year is not null group by band order by band
select r.district, l.kind, avg(l.fine) as fine, stddev(l.fine) as sd from loans l join readers r on l.reader_id = r.reader_id group by r.district, l.kind
select count(*) from loans where (lent, returned) overlaps (date '2023-12-24', date '2024-01-02')
select coalesce(fine, 0) > 5 as big, count(*) from loans group by 1
select count(*) from readers where reader_id in (select reader_id from reservations where not picked_up) and reader_id not in (select reader_id from loans where fine > 0)
select branch, count(*) filter (where picked_up) * 1.0 / count(*) as pick_up_rate from reservations group by branch
select l.branch, count(*) from loans l join reservations v on v.reader_id = l.reader_id and v.branch = l.branch and l.lent between v.reserved and v.reserved + 7 group by l.branch
select reader_id, sum(fine) from loans group by reader_id order by 2 desc limit 5
select genre, count(*) as n from loans group by genre order by n desc limit 10
select max(fine) from loans
select lower(district) as d, count(*) from readers group by lower(district)

-- calls
select hour(started) as h, count(*) from calls group by h order by h
select queue, avg(wait_seconds) as wait, avg(talk_seconds) / 60 as talk_minutes from calls group by queue
select avg(date_diff('minute', started, ended)) from calls
select count(*) from calls where ended - started > interval '30 minutes'
select queue, count(*) filter (where wait_seconds <= 20) * 100.0 / count(*) as service_level from calls group by queue
select dayname(started) as day, extract(hour from started) as hour, count(*) from calls group by day, hour
select count(*) from calls where started >= timestamp '2024-03-01 08:00:00' and started < timestamp '2024-03-08 08:00:00'
select count(*) from calls where started::time between time '12:00' and time '13:00'
select started::date as day, count(*) from calls where started >= '2024-05-01' and started < '2024-06-01' group by day order by day
select case when extract(hour from started) < 12 then 'morning' when extract(hour from started) < 18 then 'afternoon' else 'evening' end as part, avg(score) from calls group by part
select tariff, avg(n_calls) as calls_per_customer from (select c.customer_id, c.tariff, count(k.call_id) as n_calls from customers c left join calls k on k.customer_id = c.customer_id group by c.customer_id, c.tariff) t group by tariff
select outcome, count(*) * 100.0 / sum(count(*)) over () as pct from calls group by outcome order by pct desc
select avg(talk_seconds / nullif(wait_seconds, 0)) from calls
select avg(least(greatest(talk_seconds / wait_seconds, 0), 20)) from calls
select sum(talk_seconds) / 3600.0 as hours from calls where queue = 'billing' and year(started) = 2024
select count(distinct customer_id) from calls where outcome = 'callback'
select count(*) from calls a where exists (select 1 from calls b where b.customer_id = a.customer_id and b.started > a.ended and b.started <= a.ended + interval '1 day')
select avg(score) filter (where vip) as vip, avg(score) filter (where not vip) as others from calls natural join customers
select region, quantile_cont(wait_seconds, 0.9) from calls join customers using (customer_id) group by region
select agent, count(*), avg(score) from calls group by agent having count(*) >= 20
select skewness(wait_seconds), kurtosis(wait_seconds) from calls
select corr(wait_seconds, score), regr_slope(score, wait_seconds), regr_count(score, wait_seconds) from calls
select count(*) from complaints p join calls c on c.call_id = p.call_id where c.outcome = 'hung up'
select topic, avg(closed - opened) as days_open, count(*) - count(closed) as still_open from complaints group by topic
select date_trunc('month', started) as month, queue, count(*), lag(count(*)) over (partition by queue order by date_trunc('month', started)) as before from calls where started >= '2024-01-01' group by 1, 2
select count(*) from customers where customer_id in (select customer_id from calls where outcome = 'transferred' group by customer_id having count(*) >= 2)
select avg(total_talk), median(total_talk) from (select customer_id, sum(talk_seconds) as total_talk from calls group by customer_id)
select vip, sum(case when outcome = 'solved' then 1 else 0 end)::float / count(*) as solved from calls join customers using (customer_id) group by vip
select count(*) from calls where wait_seconds > (select avg(wait_seconds) from calls)
select extract(epoch from ended - started) / 60 > 10 as long_call, count(*) from calls group by 1
select strftime(started, '%Y-%m') as month, avg(wait_seconds) from calls group by month order by month
select tariff, region, count(*) from customers group by cube (tariff, region)
select count(*) filter (where score >= 9) * 100.0 / count(score) - count(*) filter (where score <= 6) * 100.0 / count(score) as nps from calls

-- energy
select heating, count(*), avg(area) from households group by heating order by 2 desc
select heating, avg(amount / area) as cost_per_m2 from bills join households using (household_id) group by heating
select extract(hour from read_at) as h, avg(kwh) from readings group by h order by h
select meter, sum(kwh) from readings where not estimated group by meter
select date_trunc('month', month) as m, sum(kwh_total) as kwh, sum(amount) as amount, sum(amount) / sum(kwh_total) as price from bills group by m order by m
select sum(amount / kwh_total) / count(*) from bills where kwh_total > 0
select count(*) from bills where paid_on is null and month < date '2024-06-01'
select count(*) from bills where paid_on > month + interval '30 days'
select avg(paid_on - month) as days_to_pay, stddev_samp(paid_on - month) from bills
select residents, avg(yearly) from (select household_id, sum(kwh_total) as yearly from bills where year(month) = 2024 group by household_id) b join households h on h.household_id = b.household_id group by residents order by residents
select solar, avg(kwh) filter (where meter = 'day') - avg(kwh) filter (where meter = 'night') as gap from readings r join households h on r.household_id = h.household_id group by solar
select case when area < 60 then 'small' when area between 60 and 120 then 'medium' else 'large' end as size, heating, count(*) from households group by size, heating
select postcode, avg(area) from households where postcode in ('3000', '3001', '3002') group by postcode
select left(postcode, 1) as zone, count(*) from households group by zone
select area / residents as m2_per_head, count(*) from households group by 1
select floor(area / residents) as m2_per_head, count(*) from households group by 1 order by 1
select avg(area * 1.0 / residents) as m2 from households where solar
select count(*) from readings where hour(read_at) >= 22 or hour(read_at) < 6
select avg(kwh) from readings where read_at between '2024-01-01' and '2024-01-31 23:59:59'
select strftime(read_at, '%H') as hour, sum(kwh) from readings group by hour
select approx_quantile(kwh, 0.95) from readings
select heating, regr_slope(amount, area) as chf_per_m2, regr_intercept(amount, area) as base from bills join households using (household_id) group by heating
select count(*) from households where contract_from <= current_date - interval '5 years'
select year(contract_from) as y, count(*), sum(count(*)) over (order by year(contract_from)) as so_far from households group by y order by y
select count(*) from (select household_id from readings group by household_id having sum(kwh) filter (where meter = 'night') > sum(kwh) filter (where meter = 'day'))
select avg(high - low) from (select household_id, max(kwh) as high, min(kwh) as low from readings group by household_id) t
select avg(share) from (select household_id, sum(case when meter = 'night' then kwh else 0 end) / sum(kwh) as share from readings group by household_id having sum(kwh) > 0)
select h.heating, avg(b.amount) from households h left join bills b on b.household_id = h.household_id and b.month >= date '2024-01-01' group by h.heating
select greatest(residents - 1, 0) as others, count(*) from households group by others
select count(*) from bills where abs(amount - 100) < 25
select count(*) from bills where amount / kwh_total between 0.1 and 0.3
select 'gas' as fuel, avg(amount) from bills join households using (household_id) where heating = 'gas' union all select 'oil', avg(amount) from bills join households using (household_id) where heating = 'oil'
select household_id, kwh from readings where kwh > 400
select avg(amount) over (partition by heating) from bills join households using (household_id)
select count(distinct date_trunc('month', paid_on)) from bills
