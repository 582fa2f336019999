with entries as (
  select person_id, condition_start_date as day,
    exists (select 1 from drug_exposure d where d.person_id = c.person_id and drug_concept_id = 210
      and drug_exposure_start_date between condition_start_date and condition_start_date + 365) as drug
  from condition_occurrence c where condition_concept_id = 120
), firsts as (select person_id, min(day) as day from entries where drug group by person_id)
select (select count(distinct person_id) from entries), count(*), count(*) filter (where exists (
  select 1 from visit_occurrence v where v.person_id = firsts.person_id and visit_concept_id = 9203
    and visit_start_date between day and day + 365
)) from firsts
