with lasts as (
  select person_id, max(visit_start_date) as day from visit_occurrence where visit_end_date <= date '2022-12-31'
  group by person_id
)
select count(*), count(*) filter (where not exists (
  select 1 from visit_occurrence v where v.person_id = lasts.person_id and visit_start_date between day - 365 and day - 1
)) from lasts
