with codes as (select * from visits p where has(codes, p.day < codes.day)) select count(*) from codes
