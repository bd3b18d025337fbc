"""Leaves a layer ready to be shown: its arguments are the layer, the one below it or nothing,
and the clones that belong into it. What a machine needs of its own, a small virtual environment that
looks into the layer, is made here once, to be copied. Python >= 3.8."""
import os
import shutil
import sys

LAYER = sys.argv[1]
PACKAGES = os.path.join(LAYER, "python")
OWN = os.path.join(LAYER, "venv")
BELOW = sys.argv[2]


def link(source, target):
    """The same folders with links to the files, so that others can be put beside them."""
    for folder, _, names in os.walk(source):
        there = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(there, exist_ok=True)
        for name in names:
            path = os.path.join(there, name)
            if os.path.lexists(path):  # of the layer below
                os.unlink(path)
            os.symlink(os.path.join(folder, name), path)


def data(packages):
    """What programs look for beside lib: share and etc of Jupyter, for example."""
    for name in os.listdir(packages):
        path = os.path.join(packages, name)
        if name == "lib64" and os.path.islink(path):
            if not os.path.lexists(os.path.join(OWN, name)):
                os.symlink(os.readlink(path), os.path.join(OWN, name))
        elif name not in ("bin", "lib", "include") and os.path.isdir(path):
            link(path, os.path.join(OWN, name))


def own():
    if not os.path.isdir(PACKAGES):
        return
    site = os.path.join("lib", "python{}.{}".format(*sys.version_info), "site-packages")
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
        data(os.path.join(BELOW, "python"))
    data(PACKAGES)


own()
for name in sys.argv[3:]:
    shutil.copytree(name, os.path.join(LAYER, "repos", name), symlinks=True)
