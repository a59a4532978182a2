"""What is required of recolva's speed, and whether the figures of a run meet it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bench_suite import scores, sweeps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench_suite.stopwatch import Cost

Costs = dict[str, "Cost"]
REALISTIC, MINIMAL, MUTATIONS = "dry-run, realistic records", "dry-run, minimal records", "archive and delete"
SCANS, START_UP, GROWTH = "Python scan, realistic records", "start-up", "growth"


class Requirement(NamedTuple):
    """One requirement and its figure."""

    work: str
    wanted: str
    figure: float
    met: bool


def at_least(work: str, wanted: float, what: str, figure: float) -> Requirement:
    """Return a requirement that is met from a figure on."""
    return Requirement(work, f">= {wanted:g} {what}", figure, figure >= wanted)


def at_most(work: str, wanted: float, what: str, figure: float) -> Requirement:
    """Return a requirement that is met up to a figure."""
    return Requirement(work, f"<= {wanted:g} {what}", figure, figure <= wanted)


def judge(table: Mapping[str, Costs], figures: Mapping[str, scores.Figures], million: float) -> Iterator[Requirement]:
    """Yield every requirement of which the run has both sides; it swept so many million records."""
    for title in (REALISTIC, MINIMAL):
        if title in table:
            yield from _dry_run(title, table[title], million)
    if MUTATIONS in table:
        yield from _mutations(table[MUTATIONS])
    if SCANS in table:
        yield from _scans(table[SCANS])
    if START_UP in table:
        row = table[START_UP]
        yield at_most("decay-sweep --version", 5, "ms", row["decay-sweep --version"].wall * 1000)
        bare = row["import recolva"].wall - row["python -c pass"].wall
        yield at_most("import recolva", 15, "ms over bare Python", bare * 1000)
    yield from _figures(figures)
    if scores.TICKS in figures:
        yield from _engine(figures)


def _dry_run(title: str, row: Costs, million: float) -> Iterator[Requirement]:
    one, two, audited = row[sweeps.ONE], row[sweeps.TWO], row[sweeps.AUDITED]
    realistic = title == REALISTIC
    if "simdjson, C++" in row:
        other = row["simdjson, C++"]
        yield at_most(title, 1.5 if realistic else 2, "x simdjson's CPU", one.cpu / other.cpu)
    for name, times in (("duckdb", 3 if realistic else 1), ("polars", 3 if realistic else 1)):
        if name in row:
            yield at_least(title, times, f"x as fast as {name}", row[name].wall / two.wall)
    if sweeps.PEER_PROGRAM in row:
        yield at_least(
            title, 14 if realistic else 12, "x as fast as recolva 0.2.0", row[sweeps.PEER_PROGRAM].wall / two.wall
        )
    yield at_most(f"audit, {title}", 0.4, "s more a million (wall)", (audited.wall - two.wall) / million)
    yield at_most(f"audit, {title}", 0.4, "s more a million (CPU)", (audited.cpu - two.cpu) / million)
    yield at_most(f"memory, {title}", 64, "MiB", two.memory)


def _mutations(row: Costs) -> Iterator[Requirement]:
    for work in ("archive", "delete"):
        for name in (sweeps.PEER_PROGRAM, f"{sweeps.PEER_SCAN} {work}"):
            if name in row:
                yield at_least(work, 6, f"x as fast as {name}", row[name].wall / row[work].wall)
        yield at_most(f"memory, {work}", 64, "MiB", row[work].memory)


def _scans(row: Costs) -> Iterator[Requirement]:
    ours, pure = row["scan"], row["scan, pure Python"]
    if sweeps.PEER_SCAN in row:
        yield at_least(SCANS, 8, "x as fast as recolva 0.2.0 (CPU)", row[sweeps.PEER_SCAN].cpu / ours.cpu)
    if "orjson loop" in row:
        yield at_least(SCANS, 1, "x as fast as an orjson loop (CPU)", row["orjson loop"].cpu / ours.cpu)
    if "json loop" in row:
        yield at_most("pure Python scan", 2, "x a json loop (CPU)", pure.cpu / row["json loop"].cpu)


def _figures(figures: Mapping[str, scores.Figures]) -> Iterator[Requirement]:
    limits: dict[str, scores.Figures] = {
        scores.GO: {"exponential": 25, "power-law": 60},
        scores.PURE: {"exponential": 1.5, "power-law": 3.5},
        scores.ARRAY: {"exponential": 25, "power-law": 60},
        scores.TICKS: {"store": 10, "recall": 10, "tick(1)": 10},
    }
    for title, wanted in limits.items():
        if title in figures:
            work, unit = title.rsplit(", ", 1)
            for name, limit in wanted.items():
                yield at_most(f"{work}, {name}", limit, unit, figures[title][name])


def _engine(figures: Mapping[str, scores.Figures]) -> Iterator[Requirement]:
    yield at_most("MemoryEngine, memory", 1000, "bytes each", figures[scores.TICKS]["bytes each"])
    file, batch = figures[scores.FILE], figures[scores.BATCH]
    for name in ("store", "recall"):
        raw = file["FULL append 4 KiB and fsync"]
        yield at_least(f"MemoryEngine at FULL, {name}", 0.5, "x the disk's fsyncs", file[f"FULL {name}"] / raw)
        yield at_least(f"MemoryEngine at NORMAL, {name}", 2000, "/s", file[f"NORMAL {name}"])
        yield at_least(f"MemoryEngine in a batch, {name}", 50000, "/s", batch[name])
