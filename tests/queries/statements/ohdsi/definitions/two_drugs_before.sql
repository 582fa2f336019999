with entries as (
  select person_id,
    (select count(*) from drug_exposure d where d.person_id = c.person_id
      and drug_exposure_start_date <= condition_start_date) as before,
    (select count(*) from drug_exposure d where d.person_id = c.person_id and days_supply > 30
      and drug_exposure_start_date <= condition_start_date) as long_before
  from condition_occurrence c where condition_concept_id = 140
)
select count(distinct person_id), count(distinct person_id) filter (where before >= 2),
  count(distinct person_id) filter (where before >= 2 and long_before >= 1) from entries
