"""What people of the made-up clinic have, and why they come: names in plain words, and how frequent each is.

The shares are of the order that health surveys report, no more: they make questions worth asking, and inform nobody.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClinicCondition:
    """A diagnosis: its share among people of an age is a logistic curve, or a bell around an age."""

    name: str
    share: float  # at the ages at which it is most frequent
    age: float  # where the curve is at its half, or the bell at its top
    slope: float = 0.0  # how fast it rises with each year of age; falls where it is negative
    bell: float | None = None  # the width of the bell in years, where it is one
    men: float = 1.0  # how much more frequent it is among men
    women: float = 1.0
    frailty: float = 0.0  # how strongly it goes with whatever makes a person ill in other ways
    cancer: bool = False  # whether who has it is a cancer survivor

    def chance(self, age: NDArray[np.int64], male: NDArray[np.bool_], frailty: Numbers) -> Numbers:
        """Return how likely each person is to have it; frailty is a normal number."""
        if self.bell is None:
            by_age = 1.0 / (1.0 + np.exp(-self.slope * (age - self.age)))
        else:
            by_age = np.exp(-(((age - self.age) / self.bell) ** 2))
        by_sex = np.where(male, self.men, self.women)
        likely: Numbers = np.minimum(self.share * by_age * by_sex * np.exp(self.frailty * frailty), 0.97)
        return likely


CONDITIONS: Final = (
    ClinicCondition(name="hypertension", share=0.62, age=58, slope=0.075, men=1.16, frailty=0.35),
    ClinicCondition(name="type 2 diabetes", share=0.30, age=60, slope=0.065, men=1.22, frailty=0.55),
    ClinicCondition(name="coronary heart disease", share=0.22, age=70, slope=0.09, men=1.5, frailty=0.5),
    ClinicCondition(name="heart failure", share=0.15, age=76, slope=0.11, men=1.16, frailty=0.6),
    ClinicCondition(name="stroke", share=0.09, age=72, slope=0.09, men=1.1, frailty=0.5),
    ClinicCondition(name="chronic kidney disease", share=0.20, age=72, slope=0.08, frailty=0.55),
    ClinicCondition(name="asthma", share=0.11, age=30, slope=-0.01, men=0.86, frailty=0.2),
    ClinicCondition(name="chronic obstructive lung disease", share=0.16, age=68, slope=0.09, men=1.1, frailty=0.5),
    ClinicCondition(name="depression", share=0.22, age=40, slope=0.005, men=0.64, frailty=0.3),
    ClinicCondition(name="osteoarthritis", share=0.40, age=65, slope=0.08, men=0.75, frailty=0.2),
    ClinicCondition(name="breast cancer", share=0.060, age=62, slope=0.07, men=0.01, frailty=0.1, cancer=True),
    ClinicCondition(name="prostate cancer", share=0.100, age=70, slope=0.12, women=0.0, frailty=0.1, cancer=True),
    ClinicCondition(name="colorectal cancer", share=0.030, age=66, slope=0.09, men=1.1, frailty=0.1, cancer=True),
    ClinicCondition(name="lung cancer", share=0.012, age=68, slope=0.10, men=1.3, frailty=0.3, cancer=True),
    ClinicCondition(name="melanoma", share=0.012, age=60, slope=0.06, cancer=True),
    ClinicCondition(name="leukaemia or lymphoma", share=0.0055, age=40, slope=0.02, men=1.16, frailty=0.1, cancer=True),
    ClinicCondition(name="testicular cancer", share=0.0045, age=31, bell=9, women=0.0, cancer=True),
)

SEXES: Final = ("F", "M")
SITES: Final = ("central", "harbour", "north", "south", "valley", "island", "airport", "university")
VISITS: Final = ("outpatient", "emergency", "inpatient")
OUTPATIENT, EMERGENCY, INPATIENT = range(len(VISITS))
SERVICES: Final = ("surgery", "medicine", "obstetrics", "psychiatry")
SURGERY, MEDICINE, OBSTETRICS, PSYCHIATRY = range(len(SERVICES))
PROCEDURES: Final = (
    "tumour removal",
    "appendectomy",
    "hernia repair",
    "joint replacement",
    "coronary bypass",
    "caesarean section",
    "colonoscopy",
    "X-ray",
)
TUMOUR, APPENDIX, HERNIA, JOINT, BYPASS, CAESAREAN, COLONOSCOPY, X_RAY = range(len(PROCEDURES))
MEASUREMENTS: Final = ("body mass index", "systolic pressure", "haemoglobin A1c")
BODY_MASS, PRESSURE, SUGAR = range(len(MEASUREMENTS))
