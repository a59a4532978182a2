"""The benchmark behind scripts/bench.

main.py         the command line, the rounds, the table
floor.py        what is required of the figures
stopwatch.py    one process run and what it cost; medians of interleaved rounds
stores.py       the stores that are swept, made once, and the work folder
environments.py the Python environments: ours with the field's packages, and that of recolva 0.2.0
sweeps.py       decay-sweep and the Python functions over files, beside the field
scores.py       single scores, arrays, and the tick engine
field.py        what others would write in Python for the same work (run as a program)
ours.py         what recolva's users would write in Python for it (run as a program)
launch/         starts a command and measures it, in Go
simdjson_scan.cpp, goscore/     the same work in C++ over simdjson, and Go's scoring loop
"""
