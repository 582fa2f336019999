with entries as (
  select person_id,
    exists (select 1 from condition_occurrence c where c.person_id = v.person_id
      and condition_start_date between visit_start_date and visit_end_date + 60) as during,
    exists (select 1 from condition_occurrence c where c.person_id = v.person_id
      and condition_start_date >= visit_start_date
      and coalesce(condition_end_date, condition_start_date + 1) <= visit_end_date + 60) as over
  from visit_occurrence v where visit_concept_id = 9201
)
select count(distinct person_id), count(distinct person_id) filter (where during),
  count(distinct person_id) filter (where during and over) from entries
