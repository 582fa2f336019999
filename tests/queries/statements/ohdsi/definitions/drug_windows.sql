with entries as (
  select person_id, condition_start_date as day,
    exists (select 1 from drug_exposure d where d.person_id = c.person_id and drug_concept_id = 210
      and drug_exposure_start_date between condition_start_date - 90 and condition_start_date + 180) as metformin,
    exists (select 1 from drug_exposure d where d.person_id = c.person_id and drug_concept_id = 220
      and drug_exposure_start_date between condition_start_date and condition_start_date + 365) as insulin
  from condition_occurrence c where condition_concept_id in (110, 112, 113)
)
select count(distinct person_id), count(distinct person_id) filter (where metformin),
  count(distinct person_id) filter (where metformin and not insulin) from entries
