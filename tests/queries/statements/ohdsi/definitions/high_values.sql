with entries as (
  select person_id,
    exists (select 1 from measurement n where n.person_id = m.person_id and n.measurement_concept_id = 300
      and n.value_as_number between 4 and 6.5 and n.measurement_date >= m.measurement_date + 1) as normal,
    exists (select 1 from measurement n where n.person_id = m.person_id and n.measurement_concept_id = 300
      and n.value_as_number not between 5 and 12) as outside
  from measurement m join person using (person_id)
  where measurement_concept_id = 300 and value_as_number >= 8.5 and year(measurement_date) - year_of_birth > 50
    and measurement_date >= date '2012-01-01'
)
select count(distinct person_id), count(distinct person_id) filter (where normal),
  count(distinct person_id) filter (where normal and outside) from entries
