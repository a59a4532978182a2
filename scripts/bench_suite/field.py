"""What others would write for the work of decay-sweep: field.py TOOL FILE CUTOFF_MS prints how many records go.

Each counts the records last accessed before the cutoff, which are those with a score below one half.
"""

from __future__ import annotations

import json
import sys


def count_json(path: str, cutoff: int) -> int:
    """The standard library's JSON, line by line."""
    with open(path, "rb") as file:  # noqa: PTH123  as one would write it
        return sum(json.loads(line)["last_accessed_ms"] < cutoff for line in file)


def count_orjson(path: str, cutoff: int) -> int:
    """The fastest JSON library of Python, line by line."""
    import orjson  # noqa: PLC0415  only this contestant needs it

    with open(path, "rb") as file:  # noqa: PTH123  as one would write it
        return sum(orjson.loads(line)["last_accessed_ms"] < cutoff for line in file)


def count_duckdb(path: str, cutoff: int) -> int:
    """SQL over JSON lines."""
    import duckdb  # noqa: PLC0415  only this contestant needs it

    query = (
        "SELECT count(*) FROM read_json(?, format='newline_delimited', "
        "columns={id: 'VARCHAR', last_accessed_ms: 'BIGINT'}) WHERE last_accessed_ms < ?"
    )
    row = duckdb.execute(query, [path, cutoff]).fetchone()
    return int(row[0]) if row else 0


def count_polars(path: str, cutoff: int) -> int:
    """A data frame over JSON lines."""
    import polars as pl  # noqa: PLC0415  only this contestant needs it

    schema = {"id": pl.String, "last_accessed_ms": pl.Int64}
    frame = pl.scan_ndjson(path, schema=schema)
    return int(frame.select((pl.col("last_accessed_ms") < cutoff).sum()).collect().item())


TOOLS = {"json": count_json, "orjson": count_orjson, "duckdb": count_duckdb, "polars": count_polars}

if __name__ == "__main__":
    print(TOOLS[sys.argv[1]](sys.argv[2], int(sys.argv[3])))
