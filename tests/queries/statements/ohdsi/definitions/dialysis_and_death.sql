with entries as (
  select person_id, min(procedure_date) as day from procedure_occurrence where procedure_concept_id = 400 group by person_id
), told as (
  select person_id,
    exists (select 1 from condition_occurrence c where c.person_id = e.person_id
      and condition_concept_id in (130, 113) and condition_start_date <= day) as kidney,
    person_id not in (select person_id from death) as alive
  from entries e
)
select count(*), count(*) filter (where kidney), count(*) filter (where kidney and alive) from told
