with entries as (
  select distinct person_id, gender_concept_id = 8507 as man from condition_occurrence c join person using (person_id)
  where condition_concept_id in (110, 112, 113) and exists (
    select 1 from condition_occurrence h where h.person_id = c.person_id and (
      h.condition_concept_id = 120
        and h.condition_start_date between c.condition_start_date - 365 and c.condition_start_date + 365
      or h.condition_concept_id = 140
        and h.condition_start_date between c.condition_start_date - 30 and c.condition_start_date + 30
    )
  )
)
select count(*), count(*) filter (where not man) from entries
