"""Brings a part of a source package of PyPI into a folder.

Given are its requirement with the hash, the part, the folder, and the words that call pip.
"""

import pathlib
import subprocess
import sys
import tarfile

requirement, part, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
folder.mkdir()
listed = folder / "requirement.txt"
listed.write_text(requirement)
download = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes"]
subprocess.run(
    [*sys.argv[4:], *download, "--requirement", listed, "--dest", folder], check=True
)
(archive,) = folder.glob("*.tar.gz")
with tarfile.open(archive) as package:
    for member in package.getmembers():
        path = pathlib.PurePosixPath(member.name)
        inside = pathlib.PurePosixPath(*path.parts[1:])
        if inside.is_relative_to(part) and member.isfile() and ".." not in path.parts:
            target = folder / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(package.extractfile(member).read())
archive.unlink()
