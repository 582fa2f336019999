"""The bounded sum with SmartNoise SQL on PostgreSQL; says when a run begins and ends.

Arguments: the connection string, the number of runs. SmartNoise knows one bound: rows of a person in all; five
groups of three rows are fifteen.
"""

import sys
import warnings

warnings.simplefilter("ignore")  # what a peer's dependencies have to say

import psycopg2  # noqa: E402
from snsql import Privacy, from_connection  # noqa: E402

whole = {name: {"type": "int"} for name in ("grp", "age", "sex", "region", "score")}
table = {
    "max_ids": 15,
    "row_privacy": False,
    "sample_max_ids": True,
    "clamp_counts": False,
    "person_id": {"type": "int", "private_id": True},
    "value": {"type": "float", "lower": 0.0, "upper": 100.0},
    **whole,
}
reader = from_connection(
    psycopg2.connect(sys.argv[1]),
    privacy=Privacy(epsilon=1.0, delta=1e-6),
    metadata={"": {"public": {"events": table}}},
    engine="postgres",
)
for _ in range(int(sys.argv[2])):
    print("begin", flush=True)
    answer = reader.execute("SELECT grp, SUM(value) AS total FROM public.events GROUP BY grp")
    assert len(answer) > 1  # noqa: S101
    print("end", flush=True)
