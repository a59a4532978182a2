"""What the build hook and the scripts share: binaries are read, built and named here.

binaries.py   what an ELF, Mach-O or PE file demands of the machine that loads it, as a wheel platform tag
toolchain.py  the Go compiler and a C compiler: found, judged, run
layout.py     where the parts of recolva stand in a checkout and in a source distribution

Only the standard library is used, so that the scripts can import this before anything is installed.
"""
