with entries as (
  select person_id,
    (select count(*) from visit_occurrence v where v.person_id = c.person_id and visit_concept_id = 9203
      and visit_start_date between coalesce(condition_end_date, condition_start_date + 1)
      and coalesce(condition_end_date, condition_start_date + 1) + 90) as soon,
    (select count(*) from visit_occurrence v where v.person_id = c.person_id
      and visit_start_date >= coalesce(condition_end_date, condition_start_date + 1)) as later
  from condition_occurrence c where condition_concept_id in (130, 113)
)
select count(distinct person_id), count(distinct person_id) filter (where soon >= 1),
  count(distinct person_id) filter (where soon >= 1 and later <= 1) from entries
