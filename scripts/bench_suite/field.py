"""What others would write for the work of recolva: field.py TOOL FILE CUTOFF_MS prints how many records go.

Each counts the records last accessed before the cutoff, which are those with a score below one half. The tools
named after recolva are its release 0.2.0, run in an environment of its own:
field.py recolva-scan|recolva-archive|recolva-delete FILE NOW_MS HALF_LIFE_MS THRESHOLD [ARCHIVE].
"""

from __future__ import annotations

import json
import sys


def count_json(path: str, cutoff: str) -> int:
    """The standard library's JSON, line by line."""
    limit = int(cutoff)
    with open(path, "rb") as file:  # noqa: PTH123  as one would write it
        return sum(json.loads(line)["last_accessed_ms"] < limit for line in file)


def count_orjson(path: str, cutoff: str) -> int:
    """The fastest JSON library of Python, line by line."""
    import orjson  # noqa: PLC0415  only this contestant needs it

    limit = int(cutoff)
    with open(path, "rb") as file:  # noqa: PTH123  as one would write it
        return sum(orjson.loads(line)["last_accessed_ms"] < limit for line in file)


def count_duckdb(path: str, cutoff: str) -> int:
    """SQL over JSON lines."""
    import duckdb  # noqa: PLC0415  only this contestant needs it

    query = (
        "SELECT count(*) FROM read_json(?, format='newline_delimited', "
        "columns={id: 'VARCHAR', last_accessed_ms: 'BIGINT'}) WHERE last_accessed_ms < ?"
    )
    row = duckdb.execute(query, [path, int(cutoff)]).fetchone()
    return int(row[0]) if row else 0


def count_polars(path: str, cutoff: str) -> int:
    """A data frame over JSON lines."""
    import polars as pl  # noqa: PLC0415  only this contestant needs it

    schema = {"id": pl.String, "last_accessed_ms": pl.Int64}
    frame = pl.scan_ndjson(path, schema=schema)
    return int(frame.select((pl.col("last_accessed_ms") < int(cutoff)).sum()).collect().item())


def scan_020(path: str, now: str, half_life: str, threshold: str) -> int:
    """The scan of recolva 0.2.0."""
    from recolva.jsonl import scan_exponential_jsonl  # noqa: PLC0415  only this contestant needs it

    policy = {"now": int(now), "half_life_millis": int(half_life), "threshold": float(threshold)}
    return sum(decision.prune for decision in scan_exponential_jsonl(path, **policy))  # type: ignore[arg-type]


def archive_020(path: str, now: str, half_life: str, threshold: str, archive: str) -> None:
    """The archiving of recolva 0.2.0."""
    from recolva.jsonl import archive_exponential_jsonl  # noqa: PLC0415  only this contestant needs it

    policy = {"now": int(now), "half_life_millis": int(half_life), "threshold": float(threshold)}
    archive_exponential_jsonl(path, archive, **policy)  # type: ignore[arg-type]


def delete_020(path: str, now: str, half_life: str, threshold: str) -> None:
    """The deleting of recolva 0.2.0."""
    from recolva.jsonl import delete_exponential_jsonl  # noqa: PLC0415  only this contestant needs it

    policy = {"now": int(now), "half_life_millis": int(half_life), "threshold": float(threshold)}
    delete_exponential_jsonl(path, **policy)  # type: ignore[arg-type]


TOOLS = {
    "json": count_json,
    "orjson": count_orjson,
    "duckdb": count_duckdb,
    "polars": count_polars,
    "recolva-scan": scan_020,
    "recolva-archive": archive_020,
    "recolva-delete": delete_020,
}

if __name__ == "__main__":
    print(TOOLS[sys.argv[1]](*sys.argv[2:]))  # type: ignore[operator]
