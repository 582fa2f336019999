select /* hi */ count(*) -- there
from patients;
