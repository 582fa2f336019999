select kind from visits group by kind order by count(*) desc limit 2
