with entries as (
  select person_id,
    (select count(*) from visit_occurrence v where v.person_id = c.person_id and visit_concept_id = 9201
      and visit_start_date between condition_start_date - 365 and condition_start_date + 365) as visits,
    (select count(*) from measurement m where m.person_id = c.person_id and measurement_concept_id = 300) as measured
  from condition_occurrence c where condition_concept_id = 120
)
select count(distinct person_id), count(distinct person_id) filter (where visits = 1),
  count(distinct person_id) filter (where visits = 1 and measured <= 1) from entries
