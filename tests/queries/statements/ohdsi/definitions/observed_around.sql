select count(distinct person_id) from condition_occurrence join observation_period using (person_id)
where condition_concept_id = 120
  and observation_period_start_date + 365 <= condition_start_date
  and condition_start_date + 180 <= observation_period_end_date
