"""Makes ~/.seer/python, the virtual environment of a machine, and installs the
requirements that are its arguments. It sees what its base has, also a base that is
a virtual environment itself. Answers with the folder and the search path of commands.
Python >= 3.8."""
import os
import shutil
import site
import subprocess
import sys
import venv

FOLDER = os.path.join(os.environ.get("HOME") or "/root", ".seer", "python")
PYTHON = os.path.join(FOLDER, "bin", "python")
SITE = os.path.join(FOLDER, "lib", "python{}.{}".format(*sys.version_info), "site-packages")
LAYER = os.environ.get("SEER_LAYER")  # the folder is a link into this one
BELOW = os.environ.get("SEER_BELOW")  # a layer whose packages are seen, after those of this one
NESTED = sys.prefix != sys.base_prefix
# The clone of a repository in the working folder hides a package of the same name that was
# installed in place: Python takes the folder for a namespace before it asks setuptools' finders.
# For this process and the installers that follow it: pip's files come from a store that is
# shared. _seer_wheels.py does nothing without its variable.
WHEELS = os.environ.get("SEER_WHEELS") and os.environ.pop("SEER_WHEELS_SOURCE", None)
EDITABLE_FIRST = 'import sys; sys.meta_path.sort(key=lambda f: not getattr(f, "__module__", "").startswith("__editable__"))\n'


def cannot(text):
    print(text, flush=True)
    sys.exit(90)


def sees_system():
    """A venv of a venv is made from the first one's base, and sees of the system what it saw."""
    if not NESTED:
        return True
    try:
        with open(os.path.join(sys.prefix, "pyvenv.cfg"), encoding="utf-8") as f:
            return any(line.replace(" ", "").strip().lower() == "include-system-site-packages=true" for line in f)
    except OSError:
        return False


def make():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(os.path.dirname(FOLDER), exist_ok=True)
    venv.EnvBuilder(system_site_packages=sees_system(), symlinks=True, with_pip=False).create(FOLDER)
    with open(os.path.join(SITE, "_seer_editable_first.pth"), "w", encoding="utf-8") as f:
        f.write(EDITABLE_FIRST)
    if BELOW:  # which leads on to what is below it
        with open(os.path.join(SITE, "_seer_below.pth"), "w", encoding="utf-8") as f:
            f.write("import site; site.addsitedir({!r})\n".format(os.path.join(BELOW, "python", os.path.relpath(SITE, FOLDER))))
    elif NESTED:
        with open(os.path.join(SITE, "_seer_base.pth"), "w", encoding="utf-8") as f:
            f.writelines("import site; site.addsitedir({!r})\n".format(p) for p in site.getsitepackages() if p.startswith(sys.prefix))
    if subprocess.call([PYTHON, "-I", "-c", "import pip"], stderr=subprocess.DEVNULL):
        if subprocess.call([PYTHON, "-I", "-m", "ensurepip", "--default-pip"], stdout=subprocess.DEVNULL):
            cannot("there is no pip for {}; use an image whose Python has pip or ensurepip (python:3.12; on Debian: python3-pip)".format(sys.executable))
    for name in ("pip", "pip3"):
        script = os.path.join(FOLDER, "bin", name)
        if not os.path.exists(script):  # the base's own installs elsewhere
            with open(script, "w", encoding="utf-8") as f:
                f.write('#!/bin/sh\nexec "${0%/*}/python" -m pip "$@"\n')
            os.chmod(script, 0o755)
    if LAYER:  # venv makes none where there is a link
        shutil.move(FOLDER, os.path.join(LAYER, "python"))
        os.symlink(os.path.join(LAYER, "python"), FOLDER)


def share():
    with open(os.path.join(SITE, "_seer_wheels.py"), "w", encoding="utf-8") as f:
        f.write(WHEELS)
    with open(os.path.join(SITE, "_seer_wheels.pth"), "w", encoding="utf-8") as f:
        f.write('import os; "SEER_WHEELS" in os.environ and __import__("_seer_wheels")\n')


def main():
    if not os.access(PYTHON, os.X_OK):
        try:
            make()
        except OSError as e:
            cannot("the virtual environment {} cannot be made: {}".format(FOLDER, e))
    if WHEELS:
        try:
            share()
        except OSError as e:
            print("packages are downloaded again, because {} cannot be written: {}".format(SITE, e), flush=True)
    if sys.argv[1:]:
        code = subprocess.call([PYTHON, "-m", "pip", "install", "--", *sys.argv[1:]])
        if code:
            sys.exit(1)
    print("seer-answer: " + FOLDER)
    search = [os.path.join(BELOW, "python", "bin")] if BELOW else []
    print("seer-answer: " + os.pathsep.join(search + [os.environ.get("PATH", "")]), flush=True)


main()
