"""Snapshots made on one provider are started on another."""
from freeport import free_port
from tools import experiment, run, seer


def up(name: str, provider: str, snapshot: str) -> None:
    more = {} if provider == "local" else {"jupyter_port": free_port()}
    path = experiment(name, dict(provider=provider, execution_mode="notebook", **more), {"preload_models": False})
    seer("up", "--yes", path, "--name", name, "--snapshot", snapshot)


def check(ref: str, text: str) -> None:
    """Its files and repositories are there; what the agent installed works, and so does pip."""
    print("{}: the files and what was installed".format(ref))
    assert run(ref, "cat made.txt") == text
    assert run(ref, "python -c 'import cowsay, sys; print(cowsay.__version__)'").strip()
    assert run(ref, "pip --version && pip install -q iniconfig && python -c 'import iniconfig'")
    assert run(ref, "git -C probes log --oneline | wc -l").strip() == "1"


up("here", "local", "modal-notebook")
check("here", "by the notebook")
run("here", "printf 'and here' >>made.txt")
seer("snapshot", "here", "from-here")
seer("down", "here")
for name in ("modal", "runpod"):
    up("back-" + name, name, "from-here")
    check("back-" + name, "by the notebookand here")
    seer("down", "back-" + name)
up("other", "modal", "runpod-notebook")
check("other", "by the notebook")
seer("down", "other")
