"""A restored home brings the virtual environment of the machine that it was saved on.
Called with "keep" before it comes, this prints the interpreter for the call with
"return", which puts back what is this machine's own: its interpreter and what it looks
into. The packages of both stay; of two versions of one, the restored. Prints the version
of a Python whose packages are of no use here. Python >= 3.8."""
import csv
import glob
import json
import os
import re
import shutil
import sys

FOLDER = os.path.join(os.environ.get("HOME") or "/root", ".seer", "python")
OWN = FOLDER + ".own"
LIB = os.path.join("lib", "python{}.{}".format(*sys.version_info))
SITE = os.path.join(LIB, "site-packages")
PATTERNS = ["pyvenv.cfg", "bin/python*", "bin/pip*", "bin/[Aa]ctivate*", SITE + "/_seer_*.pth"]


def found(folder):
    """The machine's own files that are there, relative."""
    return [os.path.relpath(p, folder) for pattern in PATTERNS for p in glob.glob(os.path.join(folder, pattern)) if not os.path.isdir(p)]


def packages(folder=SITE):
    return [os.path.basename(p) for p in glob.glob(os.path.join(FOLDER, folder, "*.dist-info"))]


def keep():
    shutil.rmtree(OWN, ignore_errors=True)
    for path in found(FOLDER):
        os.makedirs(os.path.dirname(os.path.join(OWN, path)), exist_ok=True)
        shutil.copy2(os.path.join(FOLDER, path), os.path.join(OWN, path), follow_symlinks=False)
    with open(os.path.join(OWN, "packages.json"), "w", encoding="utf-8") as f:
        json.dump(packages(), f)
    print("seer-answer: " + getattr(sys, "_base_executable", sys.executable), flush=True)


def named(info):
    return re.sub("[-_.]+", "-", info.split("-")[0]).lower()


def record(info):
    try:
        with open(os.path.join(FOLDER, SITE, info, "RECORD"), encoding="utf-8", newline="") as f:
            return {row[0] for row in csv.reader(f) if row}
    except OSError:
        return set()


def drop_older(before):
    """Of packages that are there twice, the version from before goes."""
    restored = {named(p): p for p in packages() if p not in before}
    for old in before:
        new = restored.get(named(old))
        if new is None:
            continue
        for path in record(old) - record(new):
            try:
                os.unlink(os.path.join(FOLDER, SITE, path))
            except OSError:
                pass
        shutil.rmtree(os.path.join(FOLDER, SITE, old), ignore_errors=True)


def scripts():
    """Programs name the interpreter by its path, which has another home in it."""
    for path in glob.glob(os.path.join(FOLDER, "bin", "*")):
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        with open(path, "rb") as f:
            data = f.read()
        head = b"".join(data.splitlines(True)[:3])
        moved = re.sub(rb"(/[^\s'\"]*)?/\.seer/python/bin/", lambda _: os.fsencode(FOLDER) + b"/bin/", head)
        if data.startswith(b"#!") and moved != head:
            with open(path, "wb") as f:
                f.write(moved + data[len(head):])


def put_back():
    for path in found(FOLDER):
        os.unlink(os.path.join(FOLDER, path))
    with open(os.path.join(OWN, "packages.json"), encoding="utf-8") as f:
        before = json.load(f)
    os.unlink(os.path.join(OWN, "packages.json"))
    for folder, _, names in os.walk(OWN):
        for name in names:
            source = os.path.join(folder, name)
            shutil.copy2(source, os.path.join(FOLDER, os.path.relpath(source, OWN)), follow_symlinks=False)
    drop_older(before)
    scripts()
    shutil.rmtree(OWN)
    for lib in glob.glob(os.path.join(FOLDER, "lib", "python*")):
        lib = os.path.relpath(lib, FOLDER)
        if lib != LIB and packages(os.path.join(lib, "site-packages")):
            print("seer-answer: " + lib[len("lib/python"):], flush=True)


if sys.argv[1] == "keep" and os.path.exists(os.path.join(FOLDER, "pyvenv.cfg")):
    keep()
elif sys.argv[1] == "return":
    put_back()
