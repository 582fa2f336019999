"""The bounded sum with Tumult Analytics; says when a run begins and ends. Arguments: the file, the number of runs."""

import os
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")  # what a peer's dependencies have to say

from pyspark.sql import SparkSession  # noqa: E402
from tmlt.analytics import (  # noqa: E402
    AddRowsWithID,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

os.environ["PYSPARK_PYTHON"] = sys.executable
settings = {
    "spark.driver.memory": "8g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.warehouse.dir": tempfile.mkdtemp(prefix="lapwing-tumult-"),
}
builder = SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
session = Session.from_dataframe(
    privacy_budget=PureDPBudget(float("inf")),
    source_id="events",
    dataframe=spark.read.parquet(sys.argv[1]),
    protected_change=AddRowsWithID(id_column="person_id"),
)
keys = KeySet.from_dict({"grp": list(range(100))})
bounded = QueryBuilder("events").enforce(MaxGroupsPerID("grp", 5)).enforce(MaxRowsPerGroupPerID("grp", 3))
for _ in range(int(sys.argv[2])):
    print("begin", flush=True)
    answer = session.evaluate(bounded.groupby(keys).sum("value", 0.0, 100.0), PureDPBudget(1)).collect()
    assert len(answer) == 100  # noqa: S101
    print("end", flush=True)
