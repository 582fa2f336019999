-- the first diagnosis of 110, 112 or 113, if it is within the observation period
with firsts as (
  select person_id, min(condition_start_date) as day from condition_occurrence
  where condition_concept_id in (110, 112, 113) group by person_id
)
select count(*) from firsts join observation_period using (person_id)
where day between observation_period_start_date and observation_period_end_date
