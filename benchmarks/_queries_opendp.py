"""The bounded sum with OpenDP on Polars; says when a run begins and ends. Arguments: the file, the number of runs."""

import sys
import warnings

warnings.simplefilter("ignore")  # what a peer's dependencies have to say

import opendp.prelude as dp  # noqa: E402
import polars as pl  # noqa: E402

dp.enable_features("contrib", "honest-but-curious")


def bounded_sum(path: str):
    keys = pl.LazyFrame({"grp": pl.Series(range(100), dtype=pl.Int64)})
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person_id")),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[
            dp.polars.Margin(by=[], max_length=20_000_000),
            dp.polars.Margin(by=["grp"], invariant="keys", max_length=20_000_000, max_groups=100),
        ],
    )
    value = pl.col("value").cast(pl.Float64).fill_nan(0.0).fill_null(0.0)
    return (
        context.query()
        .truncate_per_group(3, by=["grp"])
        .truncate_num_groups(5, by=["grp"], keep="first")
        .group_by("grp")
        .agg(value.dp.sum((0.0, 100.0)))
        .with_keys(keys)
        .release()
        .collect()
    )


for _ in range(int(sys.argv[2])):
    print("begin", flush=True)
    assert len(bounded_sum(sys.argv[1])) == 100  # noqa: S101
    print("end", flush=True)
