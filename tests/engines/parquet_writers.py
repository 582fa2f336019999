"""Parquet files by every writer at hand, in as many shapes as they can be told to write.

What a file notes about its rows (least, greatest, missing, a dictionary, a Bloom filter) differs between writers, and a
reader may skip rows by it: no two of these may give different numbers.
"""

import zlib

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def by_pyarrow(**options):
    return lambda table, place: pq.write_table(table, place, **options)


def with_bloom_filters(table, place):
    filters = {
        name: {"ndv": 8, "fpp": 0.01} for name in table.column_names if not pa.types.is_boolean(table[name].type)
    }
    pq.write_table(table, place, bloom_filter_options=filters, row_group_size=2)


def with_nested_columns(table, place):
    kind = pa.struct({"x": pa.float64(), "y": pa.list_(pa.int64())})
    beside = pa.array([{"x": float("nan"), "y": [i]} for i in range(len(table))], kind)
    pq.write_table(table.add_column(0, "beside", beside), place, row_group_size=3)


def in_order(table, place):
    real = next((name for name in table.column_names if pa.types.is_floating(table[name].type)), table.column_names[0])
    order = pc.sort_indices(table, sort_keys=[(real, "ascending")])
    pq.write_table(table.take(order), place, row_group_size=2, write_page_index=True, max_rows_per_page=1)


def as_floats(table, place):
    """Numbers of 32 bits, where none of them loses anything; NaN is not equal to itself, and stays."""
    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            small = table[i].cast(pa.float32(), safe=False)
            if pc.all(pc.or_(pc.equal(small.cast(pa.float64()), table[i]), pc.is_nan(table[i]))).as_py() is not False:
                table = table.set_column(i, field.name, small)
    pq.write_table(table, place, row_group_size=2)


def by_polars(**options):
    return lambda table, place: pl.from_arrow(table).write_parquet(place, **options)


def by_pandas(table, place):
    table.to_pandas(types_mapper=pd.ArrowDtype).to_parquet(place, index=False, row_group_size=3)


def by_duckdb(options):
    def write(table, place):
        with duckdb.connect() as connection:
            connection.register("incoming", table)
            connection.execute(f"copy (from incoming) to '{place}' (format parquet, {options})").fetchall()

    return write


WRITERS = {
    "pyarrow": by_pyarrow(),
    "pyarrow, small row groups": by_pyarrow(row_group_size=2),
    "pyarrow, nothing noted": by_pyarrow(write_statistics=False, row_group_size=2, compression="none"),
    "pyarrow, pages of version 2": by_pyarrow(data_page_version="2.0", use_dictionary=False, compression="zstd"),
    "pyarrow, gzip, one row a group": by_pyarrow(row_group_size=1, compression="gzip", write_page_index=True),
    "pyarrow, Bloom filters": with_bloom_filters,
    "pyarrow, nested columns beside": with_nested_columns,
    "pyarrow, in order": in_order,
    "pyarrow, 32 bits": as_floats,
    "polars": by_polars(row_group_size=2),
    "polars, all noted": by_polars(statistics="full", compression="lz4"),
    "polars, nothing noted": by_polars(statistics=False, compression="snappy"),
    "pandas": by_pandas,
    "DuckDB": by_duckdb("row_group_size 2"),
    "DuckDB, version 2": by_duckdb("parquet_version v2, compression zstd, dictionary_size_limit 1"),
}


def number_of(table):
    """A number that follows from the content of a table, so that an example that failed fails again."""
    # Days as numbers: those of Python end with the year 9999.
    columns = [column.cast(pa.int32()) if pa.types.is_date(column.type) else column for column in table.columns]
    return zlib.crc32(repr([column.to_pylist() for column in columns]).encode())


def write_parquet(table, place):
    """Write a table by one of the writers."""
    list(WRITERS.values())[number_of(table) % len(WRITERS)](table, place)


def with_the_notes_of_another(place, kind, held, noted, rows=8):
    """Write a file whose rows hold one value and which notes, in the same number of bytes, another for all of them."""
    files = []
    for value in (held, noted):
        columns = {"pid": list(range(rows)), "x": pa.array([value] * rows, kind)}
        pq.write_table(pa.table(columns), place, compression="none", use_dictionary=False, row_group_size=rows // 2)
        files.append(place.read_bytes())
    length = int.from_bytes(files[0][-8:-4], "little") + 8
    assert len(files[0]) == len(files[1])
    place.write_bytes(files[0][:-length] + files[1][-length:])
    group = pq.ParquetFile(place).metadata.row_group(0).column(1)
    assert group.statistics.min == group.statistics.max == noted
