select count(*) from patients p where exists (select 1 from visits v where v.pid = p.pid and v.day between p.born and p.born + interval 30 day)
