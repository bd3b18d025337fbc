"""Images for tests. usage: make.py system DIR | make.py sif SQUASHFS FILE"""

import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import sysconfig


def system(root):
    """A file system with this computer's Python, a shell and little else."""
    done = set()

    def put(path, name=None):
        target = root + (name or path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.realpath(path), target)

    def program(path, name=None):
        put(path, name)
        linked = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
        for library in re.findall(r"(/\S+) \(0x", linked):
            if library not in done:
                done.add(library)
                put(library)

    python = os.path.realpath("/usr/bin/python3")
    program(python, "/opt/python/bin/" + os.path.basename(python))
    os.symlink(os.path.basename(python), root + "/opt/python/bin/python3")
    library = sysconfig.get_path("stdlib", vars={"base": "/usr", "installed_base": "/usr", "platbase": "/usr", "installed_platbase": "/usr"})
    to = "/opt/python/lib/" + os.path.basename(library)
    for folder, folders, files in os.walk(library):
        folders[:] = [f for f in folders if f not in ("__pycache__", "test", "site-packages", "dist-packages")]
        for file in files:
            path = os.path.join(folder, file)
            if os.path.isfile(path):
                (program if file.endswith(".so") else put)(path, to + path[len(library):])
    libc = next(library for library in done if library.endswith("/libc.so.6"))
    for name in ("librt.so.1", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1", "libstdc++.so.6"):  # on which wheels may rely
        if os.path.join(os.path.dirname(libc), name) not in done:
            put(os.path.join(os.path.dirname(libc), name))
    shutil.copytree("/usr/share/python-wheels", root + "/usr/share/python-wheels")  # where Debian has pip
    put("/etc/ssl/certs/ca-certificates.crt")
    for tool in ("sh", "cat", "ls", "id", "sleep"):
        program(shutil.which(tool), "/usr/bin/" + tool)
    os.symlink("usr/bin", root + "/bin")
    for name, text in {
        "/etc/image": "of the image\n",
        "/.singularity.d/env/10-docker2singularity.sh": '#!/bin/sh\nexport PATH="/opt/python/bin:/usr/bin"\nexport OF_IMAGE="${OF_IMAGE:-"one two"}"\n',
        "/etc/passwd": "root:x:0:0::/root:/bin/sh\n",
    }.items():
        os.makedirs(os.path.dirname(root + name), exist_ok=True)
        with open(root + name, "w") as f:
            f.write(text)


def sif(squashfs, file):
    """A SIF file with one partition, as Apptainer lays it out."""
    with open(squashfs, "rb") as f:
        content = f.read()
    arch = {"x86_64": b"02", "aarch64": b"04"}[platform.machine()]
    table, slots, data = 4096, 48, 32768
    head = b"#!/usr/bin/env run-singularity\n".ljust(32, b"\0") + b"SIF_MAGIC\0" + b"01\0" + arch + b"\0" + bytes(16)
    head += struct.pack("<8q", 0, 0, slots - 1, slots, table, slots * 585, data, len(content))
    part = struct.pack("<i?3I3q4q128s", 0x4004, True, 1, 0xF0000001, 0, data, len(content), len(content), 0, 0, 0, 0, b"squashfs")
    part += struct.pack("<2i3s", 1, 2, arch).ljust(384, b"\0")
    with open(file, "wb") as f:
        f.write(head.ljust(table, b"\0") + part)
        f.seek(data)
        f.write(content)


{"system": system, "sif": sif}[sys.argv[1]](*sys.argv[2:])
