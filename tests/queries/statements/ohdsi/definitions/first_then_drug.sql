with entries as (
  select person_id, min(condition_start_date) as day, max(observation_period_end_date) as last_day
  from condition_occurrence join observation_period using (person_id)
  where condition_concept_id = 120 and observation_period_start_date + 365 <= condition_start_date
    and condition_start_date <= observation_period_end_date
  group by person_id
)
select count(*), count(*) filter (where exists (
  select 1 from drug_exposure d where d.person_id = entries.person_id and d.drug_concept_id = 210
    and d.drug_exposure_start_date between day and day + 180 and d.drug_exposure_start_date <= last_day
)) from entries
