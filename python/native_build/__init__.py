"""What the build hook and the scripts share: binaries are read, built and named here.

binaries.py   what an ELF, Mach-O or PE file demands of the machine that loads it, as a wheel platform tag
toolchain.py  the Go compiler and a C compiler: found, judged, run
layout.py     where the parts of recolva stand in a checkout and in a source distribution
buildinfo.py  what Go wrote into a compiled file: its version, the modules linked in, the build settings
licences.py   whose code is in a compiled file, and the licence texts that go with it
sbom.py       the bill of materials of what is shipped, in CycloneDX's JSON

Only the standard library is used, so that the scripts can import this before anything is installed.
"""
