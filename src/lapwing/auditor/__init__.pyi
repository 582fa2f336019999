from lapwing.auditor.added_noise import AddedNoise as AddedNoise
from lapwing.auditor.black_box import audit as audit
from lapwing.auditor.finding import Finding as Finding
from lapwing.auditor.noise_laws import AuditedDiscreteLaplace as AuditedDiscreteLaplace
