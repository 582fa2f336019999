-- citybikes
select count(*) from riders
select plan, count(*) as riders, round(100.0 * count(*) / sum(count(*)) over (), 1) as pct from riders group by plan order by riders desc
select extract(hour from started) as h, count(*) as trips from trips group by h order by h
select date_trunc('week', started) as week, count(*) from trips where started >= '2023-06-01' group by 1 order by 1
select dayname(started) as weekday, avg(minutes), median(minutes) from trips group by weekday
select count(*) from trips where started between '2023-07-01' and '2023-07-31 23:59:59' and bike = 'e-bike'
select bike, avg(km / (minutes / 60.0)) as kmh from trips where minutes > 2 group by bike
select sum(km) / count(distinct rider_id) as km_per_rider from trips
select from_station, count(*) as departures from trips group by from_station order by departures desc limit 3
select from_station, to_station, count(*) from trips group by all
select count(*) from trips where from_station = to_station
select r.plan, count(distinct t.rider_id) as active from riders r join trips t on t.rider_id = r.rider_id where t.started >= date '2023-10-01' group by r.plan
select avg(n_trips) from (select rider_id, count(*) as n_trips from trips group by rider_id) x
select case when n >= 20 then 'heavy' when n >= 5 then 'regular' else 'light' end as kind, count(*) from (select rider_id, count(*) n from trips group by rider_id) group by kind
select 2023 - "Birth Year" as age, count(*) from riders group by 1 order by 1
select width_bucket(2023 - "Birth Year", 15, 75, 6) as band, gender, count(*) from riders where "Birth Year" is not null group by band, gender
select gender, avg(minutes) from trips join riders using (rider_id) group by gender having count(*) > 100
select percentile_cont(0.9) within group (order by minutes) from trips
select quantile_cont(minutes, 0.5), quantile_cont(minutes, 0.9), max(minutes) from trips
select sum(case when extract(dow from started) in (0, 6) then 1 else 0 end)::float / count(*) as weekend_share from trips
select month(started) as m, sum(minutes) / 60 as hours, sum(sum(minutes)) over (order by month(started)) / 60 as hours_so_far from trips group by m order by m
select count(*) from riders where joined < current_date - interval '2 years'
select count(*) from riders r where not exists (select 1 from trips t where t.rider_id = r.rider_id)
select avg(least(minutes, 120)) from trips
select least(household, 4) from riders
select bike, count(*) filter (where minutes > 30) * 1.0 / count(*) as long_share from trips group by bike order by 2 desc
select coalesce(km, 0) > 5 as far, count(*) from trips group by far
select hour(started) between 7 and 9 as rush, bike, count(*) from trips group by 1, 2
select avg(total_km) from (select rider_id, sum(km) as total_km from trips where bike = 'cargo' group by rider_id) as s
select city, count(*) from riders group by city having count(*) >= 50
select upper(plan) as plan, count(*) from riders group by upper(plan)
select stddev_samp(minutes), skewness(minutes) from trips
select rider_id, count(*) from trips group by rider_id order by 2 desc limit 10
select * from trips limit 5

-- trial
select arm, sex, count(*) as n from subjects group by arm, sex order by arm, sex
select arm, avg(age) as mean_age, stddev(age) as sd_age, min(age), max(age) from subjects group by arm
select arm, count(*) filter (where withdrawn is not null) as withdrew, count(*) as randomised from subjects group by arm
select visit, arm, avg(sbp) as sbp, count(*) as n from visits join subjects using (subject_id) group by visit, arm order by visit, arm
select arm, avg(v6.sbp - v0.sbp) from subjects s join visits v0 on v0.subject_id = s.subject_id and v0.visit = 0 join visits v6 on v6.subject_id = s.subject_id and v6.visit = 5 group by arm
select avg(sbp - dbp) as pulse_pressure from visits where visit = 0
select avg(dbp + (sbp - dbp) / 3.0) as map from visits
select count(distinct subject_id) as n_ae from ae where serious = 'yes'
select term, count(*) as events, count(distinct subject_id) as subjects from ae group by term order by events desc
select s.arm, a.severity, count(distinct a.subject_id) from ae a inner join subjects s on a.subject_id = s.subject_id group by 1, 2 order by 1, 2
select avg(resolved - onset) as days from ae where resolved is not null
select median(datediff('day', onset, resolved)) from ae
select min(onset - randomised) from ae join subjects using (subject_id)
select arm, avg(first_ae) from (select s.subject_id, s.arm, min(a.onset - s.randomised) as first_ae from subjects s join ae a on a.subject_id = s.subject_id group by s.subject_id, s.arm) t group by arm
select count(*) from (select subject_id from ae group by subject_id having count(*) >= 3)
select avg(best) from (select subject_id, min(sbp) as best from visits group by subject_id)
select arm, avg(mean_sbp) from (select subject_id, avg(sbp) as mean_sbp from visits group by subject_id) v join subjects using (subject_id) group by arm
select site, count(*) from subjects group by site
select site, avg(age) from subjects where site in ('Basel', 'Bern') group by site
select smoker, avg(case when sex = 'F' then 1.0 else 0 end) as female from subjects group by smoker
select corr(weight, sbp), covar_pop(weight, sbp), regr_r2(sbp, weight) from visits where visit = 0
select sex, regr_slope(sbp, weight) from visits natural join subjects group by sex
select var_samp(qol) / count(qol) from visits where visit = 5
select sqrt(var_samp(qol) / count(qol)) as se from visits
select visit, avg(qol) - lag(avg(qol)) over (order by visit) as change from visits group by visit
select 'AE' as what, count(*) from ae union all select 'visits', count(*) from visits
select (select count(distinct subject_id) from ae) * 100.0 / (select count(*) from subjects) as incidence
select arm, sum(n_ae) / count(*) as rate from (select s.subject_id, s.arm, count(a.ae_id) as n_ae from subjects s left join ae a using (subject_id) group by all) group by arm
select count(*) from visits where sbp >= 140 or dbp >= 90
select width_bucket(age, 20, 80, 6), count(*) from subjects group by 1
select date_part('year', randomised) || '-Q' || date_part('quarter', randomised) as quarter, count(*) from subjects group by 1
select last(sbp order by visit_date) from visits group by subject_id
select avg(sbp) from (select sbp, row_number() over (partition by subject_id order by visit_date desc) as rn from visits) where rn = 1
select pow(weight / 1.75, 2) from visits
select avg(power(sbp, 2)) from visits
select count(distinct (subject_id, visit)) from visits
select mode() within group (order by severity) from ae
select count(weight * 2) from visits
select bool_or(serious = 'yes') from ae

-- labour
select sum(weight) from persons where status = 'employed'
select canton, sum(weight) filter (where status = 'unemployed') / sum(weight) filter (where status in ('employed', 'unemployed')) as rate from persons group by canton order by canton
select education, avg(gross) from jobs join persons on persons.pid = jobs.pid group by education
select sector, median(gross), quantile(gross, 0.1), quantile(gross, 0.9), count(*) from jobs group by sector
select sum(weight * household_size) / sum(weight) from persons
select year(current_date) - year(born) as age, count(*) from persons group by age
select floor((2024 - year(born)) / 10) * 10 as decade, status, count(*) from persons group by decade, status
select case when date_diff('year', born, date '2024-01-01') < 25 then '15-24' when date_diff('year', born, date '2024-01-01') < 55 then '25-54' else '55+' end as age_group, avg(household_size) from persons group by age_group
select avg(total) from (select pid, sum(gross) total from jobs where until is null group by pid)
select count(*) from (select pid from jobs where until is null group by pid having sum(hours) > 42)
select count(*) from persons p where (select count(*) from jobs j where j.pid = p.pid and j.until is null) >= 2
select occupation, count(*) n, avg(gross) from jobs group by occupation order by n desc
select year(since) as y, count(*) as started, count(*) filter (where until is not null) as ended from jobs where year(since) >= 2015 group by y order by y
select avg(gross / (hours * 4.33)) as hourly from jobs where hours > 0
select avg(coalesce(until, date '2024-06-30') - since) / 365.25 as years from jobs
select sector, sum(gross * hours) / sum(hours) from jobs group by sector
select count(*) from jobs where (since, coalesce(until, date '2024-06-30')) overlaps (date '2020-03-01', date '2020-06-01')
select nationality, count(*) * 1.0 / (select count(*) from persons) from persons group by nationality
select canton, rank() over (order by avg(household_size) desc) as place from persons group by canton
select canton, nationality, count(*) from persons group by rollup (canton, nationality)
select count(*) from persons where canton = 'BE' and status <> 'inactive' and extract(year from age(date '2024-01-01', born)) >= 50
select ntile(4) over (order by gross), avg(hours) from jobs group by 1
