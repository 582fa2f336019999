with entries as (
  select person_id, gender_concept_id = 8532 and year(visit_start_date) - year_of_birth between 30 and 60
    and visit_start_date between date '2012-01-01' and date '2018-12-31' as fits,
    exists (select 1 from visit_occurrence w where w.person_id = v.person_id
      and w.visit_start_date >= v.visit_start_date and w.visit_end_date - w.visit_start_date > 7) as long
  from visit_occurrence v join person using (person_id) where visit_concept_id = 9203
)
select count(distinct person_id), count(distinct person_id) filter (where fits),
  count(distinct person_id) filter (where fits and long) from entries
