"""Leaves a layer ready to be shown: its arguments are the layer, the one below it or nothing, whether
it is shared, and the clones that belong into it. What a machine needs of its own, a small virtual environment that
looks into the layer, is made here once, to be copied. Python >= 3.8."""
import os
import shutil
import sys

LAYER = sys.argv[1]
PACKAGES = os.path.join(LAYER, "python")
OWN = os.path.join(LAYER, "venv")
BELOW = sys.argv[2]
SHARED = sys.argv[3] == "shared"
# What the notebook's service finds in the layers themselves (seer_notebook/server/assets.py), for
# Tornado serves no links: extensions, and JupyterLab's own files, three quarters of all.
ELSEWHERE = {os.path.join("jupyter", "labextensions")}
LAB = {os.path.join("jupyter", "lab", name) for name in ("schemas", "static", "themes")}


def link(source, target, without=frozenset()):
    """The same folders with links to the files, so that others can be put beside them."""
    for folder, folders, names in os.walk(source):
        inside = os.path.relpath(folder, source)
        folders[:] = [name for name in folders if os.path.normpath(os.path.join(inside, name)) not in without]
        there = os.path.join(target, inside)
        os.makedirs(there, exist_ok=True)
        for name in names:
            path = os.path.join(there, name)
            if os.path.lexists(path):  # of the layer below
                os.unlink(path)
            os.symlink(os.path.join(folder, name), path)


def data(packages, shared):
    """What programs look for beside lib: share and etc of Jupyter, for example. A layer that is
    shared is what a notebook needs, whatever the experiment."""
    for name in os.listdir(packages):
        path = os.path.join(packages, name)
        if name == "lib64" and os.path.islink(path):
            if not os.path.lexists(os.path.join(OWN, name)):
                os.symlink(os.readlink(path), os.path.join(OWN, name))
        elif name not in ("bin", "lib", "include") and os.path.isdir(path):
            link(path, os.path.join(OWN, name), frozenset() if name != "share" else ELSEWHERE | LAB if shared else ELSEWHERE)


def own():
    if not os.path.isdir(PACKAGES):
        return
    site = os.path.join("lib", "python{}.{}".format(*sys.version_info), "site-packages")
    for name in ("_seer_wheels.pth", "_seer_wheels.py"):  # only for the build
        if os.path.exists(os.path.join(PACKAGES, site, name)):
            os.unlink(os.path.join(PACKAGES, site, name))
    os.makedirs(os.path.join(OWN, site))
    os.makedirs(os.path.join(OWN, "bin"))
    shutil.copy2(os.path.join(PACKAGES, "pyvenv.cfg"), OWN)
    for name in os.listdir(os.path.join(PACKAGES, "bin")):
        path = os.path.join(PACKAGES, "bin", name)
        if name.startswith(("python", "pip", "activate")):
            shutil.copy2(path, os.path.join(OWN, "bin", name), follow_symlinks=False)
    with open(os.path.join(OWN, site, "_seer_layer.pth"), "w", encoding="utf-8") as f:
        f.write("import site; site.addsitedir({!r})\n".format(os.path.join(PACKAGES, site)))
    if BELOW:
        data(os.path.join(BELOW, "python"), shared=True)
    data(PACKAGES, shared=SHARED)


own()
for name in sys.argv[4:]:
    shutil.copytree(name, os.path.join(LAYER, "repos", name), symlinks=True)
