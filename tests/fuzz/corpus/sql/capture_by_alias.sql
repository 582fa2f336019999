with v as (select * from visits p where has(codes, p.day < codes.day)) select count(*) from v as codes
