with people as (
  select distinct person_id,
    (person_id in (select person_id from condition_occurrence where condition_concept_id in (110, 112, 113)))::int
    + (person_id in (select person_id from drug_exposure where drug_concept_id = 230))::int
    + (person_id in (select person_id from observation where observation_concept_id = 500))::int as risks,
    person_id in (select person_id from condition_occurrence where condition_concept_id in (140, 130, 113)) as other
  from condition_occurrence where condition_concept_id = 120
)
select count(*), count(*) filter (where risks >= 2), count(*) filter (where risks >= 2 and other),
  count(*) filter (where risks = 2 and other) from people
