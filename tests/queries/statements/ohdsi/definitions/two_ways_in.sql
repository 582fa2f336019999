with events as (
  select person_id, condition_start_date as day from condition_occurrence where condition_concept_id in (110, 112, 113)
  union all
  select person_id, drug_exposure_start_date from drug_exposure join person using (person_id)
  where drug_concept_id = 210 and year(drug_exposure_start_date) - year_of_birth >= 18
), entries as (
  select person_id, min(day) as day from events join observation_period using (person_id)
  where observation_period_start_date + 180 <= day and day <= observation_period_end_date group by person_id
), told as (
  select person_id, gender_concept_id = 8507 as man,
    exists (select 1 from measurement m where m.person_id = e.person_id and measurement_concept_id = 300
      and measurement_date between day - 90 and day + 90) as measured
  from entries e join person using (person_id)
)
select count(*), count(*) filter (where measured), count(*) filter (where measured and man) from told
