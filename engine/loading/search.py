"""Looks for words in whatever a process of this sandbox can read. The words come by standard input and
mixed with a key, so that they stand nowhere, not even in the memory of what passes them on:
{"key": hex, "forms": [hex, ...], "roots": [...]}. Prints a JSON list of places."""

import glob
import json
import os
import re
import sys

LARGE = 16 << 20
SKIPPED = {"site-packages", "dist-packages", "__pycache__", "node_modules"}  # other people's programs
OWN = "/seer/runtime"  # the same in every sandbox

asked = json.load(sys.stdin)
key = bytes.fromhex(asked["key"])
forms = [bytes(a ^ key[i % len(key)] for i, a in enumerate(bytes.fromhex(form))) for form in asked["forms"]]
# Each begins with letters that stay as they are, which is quick to look for.
patterns = [re.compile(rb"[^a-z0-9\x80-\xff]+".join(re.escape(part) for part in form.split(b"-"))) for form in forms]
found = []


def look(where, text):
    lower = text.lower()
    if any(pattern.search(lower) for pattern in patterns):
        found.append(where)


def pieces(path):
    with open(path, "rb") as f:
        size = os.fstat(f.fileno()).st_size
        if size <= LARGE:
            yield f.read()
            return
        yield f.read(LARGE // 2)  # the header of a file of tensors, the table of an archive
        f.seek(size - LARGE // 2)
        yield f.read()


def tree(root):
    for folder, dirs, files in os.walk(root):
        dirs[:] = [d for d in dirs if d not in SKIPPED and os.path.join(folder, d) != OWN]
        for name in dirs + files:
            path = os.path.join(folder, name)
            look(f"the name of {path}", os.fsencode(name))
            if os.path.islink(path):
                look(f"where {path} leads", os.fsencode(os.readlink(path)))
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.isfile(path):
                continue
            try:
                for piece in pieces(path):
                    look(f"the file {path}", piece)
            except OSError:
                pass


for place in asked["roots"]:
    tree(os.path.expanduser(place))
look("the environment", "\n".join(f"{k}={v}" for k, v in os.environ.items()).encode())
processes = glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline")
for path in ["/proc/self/mountinfo", "/proc/mounts", "/etc/hostname", "/etc/hosts", *processes]:
    try:
        with open(path, "rb") as f:
            look(path, f.read())
    except OSError:
        pass
print(json.dumps(sorted(set(found))))
