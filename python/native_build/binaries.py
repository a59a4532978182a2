"""What a compiled file demands of the machine that loads it, read from the file itself.

A wheel's platform tag is a promise to the installer. It is derived here from what the dynamic loader will
look at, never from the machine that happens to build:

ELF     the machine, the libraries needed, and the newest GLIBC symbol version needed
Mach-O  the machine and the oldest macOS that the file declares
PE      the machine
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# A glibc older than this is on no system that Python 3.9 wheels are made for (PEP 599, manylinux2014).
OLDEST_GLIBC = (2, 17)

# Libraries that every manylinux system has (PEP 513 and its successors), as far as Go's linker asks for any.
MANYLINUX_LIBRARIES = re.compile(r"(libc\.so\.6|lib(pthread|dl|m|rt|resolv)\.so\.\d|ld-linux.*\.so\.\d|ld64\.so\.\d)")

ELF_MACHINES = {3: "i686", 21: "ppc64le", 22: "s390x", 40: "armv7l", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
MACHO_MACHINES = {0x0100_0007: "x86_64", 0x0100_000C: "arm64"}
PE_MACHINES = {0x014C: "win32", 0x8664: "win_amd64", 0xAA64: "win_arm64"}

GO_ARCHITECTURES = {
    "i686": "386", "ppc64le": "ppc64le", "s390x": "s390x", "armv7l": "arm", "x86_64": "amd64",
    "aarch64": "arm64", "arm64": "arm64", "riscv64": "riscv64",
    "win32": "386", "win_amd64": "amd64", "win_arm64": "arm64",
}  # fmt: skip


class NotABinaryError(ValueError):
    """The file is not an ELF, Mach-O or PE file that we can read; the text says what is wrong."""


@dataclass(frozen=True)
class Binary:
    """What one compiled file is and demands."""

    system: str  # Go's name: linux, darwin, windows
    machine: str  # as wheel tags spell it on that system
    needed: tuple[str, ...] = ()  # libraries that an ELF file asks the loader for
    glibc: tuple[int, int] | None = None  # the newest GLIBC symbol version it needs
    macos: tuple[int, int] | None = None  # the oldest macOS it declares

    @property
    def go_arch(self) -> str:
        """Go's name of the machine."""
        return GO_ARCHITECTURES[self.machine]


def read_binary(path: Path) -> Binary:
    """Read a compiled file, or raise NotABinaryError."""
    data = path.read_bytes()
    for magic, reader in ((b"\x7fELF", _read_elf), (b"\xcf\xfa\xed\xfe", _read_macho), (b"MZ", _read_pe)):
        if data.startswith(magic):
            try:
                return reader(data)
            except (struct.error, LookupError, StopIteration, ValueError) as error:
                msg = f"{path.name} is damaged or of an unknown machine ({error!r})"
                raise NotABinaryError(msg) from None
    msg = f"{path.name} is not a compiled library or program ({len(data)} bytes)"
    raise NotABinaryError(msg)


def wheel_platform(files: list[Binary]) -> str:
    """Return the widest platform tag that is true for all the files together."""
    systems = {(file.system, file.machine) for file in files}
    if len(systems) != 1:
        names = ", ".join(sorted(f"{system}/{machine}" for system, machine in systems))
        msg = f"the files of one wheel are for different machines: {names}"
        raise NotABinaryError(msg)
    system, machine = systems.pop()
    if system == "windows":
        return machine
    if system == "darwin":
        major, minor = max(file.macos or (0, 0) for file in files)
        # From macOS 11 on, installers know major versions only.
        return f"macosx_{major}_{0 if major >= 11 else minor}_{machine}"
    return f"{_linux_platform(files)}_{machine}"


def _linux_platform(files: list[Binary]) -> str:
    needed = {library for file in files for library in file.needed}
    if not needed:
        # A static program alone: the wheel for systems whose C library is musl, which can't load a Go library.
        return "musllinux_1_1"
    if not all(MANYLINUX_LIBRARIES.fullmatch(library) for library in needed):
        return "linux"
    major, minor = max([OLDEST_GLIBC, *(file.glibc for file in files if file.glibc)])
    return f"manylinux_{major}_{minor}"


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode("ascii", "replace")


def _read_elf(data: bytes) -> Binary:
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    machine = ELF_MACHINES[struct.unpack_from(f"{order}H", data, 18)[0]]
    offset = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", data, 32 if wide else 28)[0]
    size, count = struct.unpack_from(f"{order}HH", data, 54 if wide else 42)
    loads: list[tuple[int, int, int]] = []  # address, size in the file, offset in the file
    dynamic: tuple[int, int] | None = None
    for start in range(offset, offset + size * count, size):
        kind = struct.unpack_from(f"{order}I", data, start)[0]
        if wide:
            at, address, _, length = struct.unpack_from(f"{order}4Q", data, start + 8)
        else:
            at, address, _, length = struct.unpack_from(f"{order}4I", data, start + 4)
        if kind == 1:  # PT_LOAD
            loads.append((address, length, at))
        elif kind == 2:  # PT_DYNAMIC
            dynamic = (at, length)
    if dynamic is None:
        return Binary("linux", machine)
    entry = f"{order}{'qQ' if wide else 'iI'}"
    entries = list(struct.iter_unpack(entry, data[dynamic[0] : dynamic[0] + dynamic[1]]))
    return Binary("linux", machine, *_elf_needs(data, order, entries, loads))


def _elf_needs(
    data: bytes, order: str, entries: list[tuple[int, int]], loads: list[tuple[int, int, int]]
) -> tuple[tuple[str, ...], tuple[int, int] | None]:
    """Follow the dynamic section as the loader does: DT_NEEDED names, DT_VERNEED version needs."""

    def in_file(address: int) -> int:
        return next(at + address - base for base, length, at in loads if base <= address < base + length)

    values = dict(entries)
    strings = in_file(values[5])  # DT_STRTAB
    needed = tuple(_text(data, strings + value) for tag, value in entries if tag == 1)
    versions: list[tuple[int, int]] = []
    where = in_file(values[0x6FFF_FFFE]) if 0x6FFF_FFFE in values else 0  # DT_VERNEED
    for _ in range(values.get(0x6FFF_FFFF, 0)):  # DT_VERNEEDNUM libraries
        _, count, _, first, following = struct.unpack_from(f"{order}HHIII", data, where)
        name = where + first
        for _ in range(count):
            _, _, _, text, step = struct.unpack_from(f"{order}IHHII", data, name)
            found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", _text(data, strings + text))
            if found:
                versions.append((int(found[1]), int(found[2])))
            name += step
        where += following
    return needed, max(versions, default=None)


def _read_macho(data: bytes) -> Binary:
    machine = MACHO_MACHINES[struct.unpack_from("<I", data, 4)[0]]
    count = struct.unpack_from("<I", data, 16)[0]
    at, oldest = 32, None
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        if command in (0x24, 0x32):  # LC_VERSION_MIN_MACOSX, LC_BUILD_VERSION
            number = struct.unpack_from("<I", data, at + (8 if command == 0x24 else 12))[0]
            oldest = (number >> 16, number >> 8 & 0xFF)
        at += size
    return Binary("darwin", machine, macos=oldest)


def _read_pe(data: bytes) -> Binary:
    start = struct.unpack_from("<I", data, 0x3C)[0]
    if data[start : start + 4] != b"PE\0\0":
        msg = "no PE header"
        raise KeyError(msg)
    return Binary("windows", PE_MACHINES[struct.unpack_from("<H", data, start + 4)[0]])
