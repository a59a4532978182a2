"""The benchmark behind scripts/bench.

main.py         the command line, the rounds, the table
stopwatch.py    one process run and what it cost; medians of interleaved rounds
stores.py       the stores that are swept, made once
sweeps.py       decay-sweep and the Python functions over files, beside the field
scores.py       single scores, arrays, and the tick engine
field.py        what others would write in Python for the same work (run as a program)
ours.py         what recolva's users would write in Python for it (run as a program)
simdjson_scan.cpp, goscore/     the same in C++ over simdjson, and Go's scoring loop
"""
