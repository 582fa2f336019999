"""AIM of private-pgm, as it is shipped, on a table of codes: says its CPU seconds and peak memory, and keeps its rows.

Arguments: an NPZ file with `rows` and `sizes`, epsilon, the seed, and where the rows go. Everything is as its authors
have it: all tables of three columns, a model of 80 MB, delta 1e-9.
"""

import contextlib
import io
import itertools
import json
import os
import resource
import sys
import time
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).parent / "private_pgm"))

import numpy as np
import pandas as pd
from aim import AIM
from mbi import Dataset, Domain

held, epsilon, seed, kept = np.load(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
names = [f"c{i:02d}" for i in range(len(held["sizes"]))]
people = Dataset(pd.DataFrame(held["rows"], columns=names), Domain(names, held["sizes"].tolist()))
workload = [(one, 1.0) for one in itertools.combinations(names, 3) if people.domain.size(one) <= 10_000]
np.random.seed(seed)  # noqa: NPY002, TID251 - the peer draws from it
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
with contextlib.redirect_stdout(io.StringIO()):
    _, made = AIM(epsilon, 1e-9).run(people, workload)
spent = time.process_time() - start
np.save(kept, made.df[names].to_numpy())
print(json.dumps({"cpu": spent, "mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}))
