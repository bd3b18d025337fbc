"""Models: from the disk to the first token, against bare Python."""

import importlib.util
import time
from pathlib import Path
from typing import NamedTuple, Optional, Tuple

from checks import Checks, NotPossible
from seer import HERE, Seer
from steps_sandbox import room

LOADER = HERE.parent.parent / "engine/modelload/loader.py"
MOST = 1.05  # times transformers' own load; what is above 1 is chance


class Model(NamedTuple):
    """A model that was made here, and what a bare program needs for it."""

    folder: Path
    label: str
    bare: float  # seconds from the start of Python to the first token
    token: int


def model_of(checks: Checks, seer: Seer, gigabytes: int) -> Optional[Model]:
    """Random weights; of a test without a GPU a tiny model."""
    label = "a model of %d GB" % gigabytes if seer.device == "cuda" else "a tiny model"

    def make() -> Tuple[Model, str]:
        for name in ("transformers", "accelerate"):
            if importlib.util.find_spec(name) is None:
                raise NotPossible("%s is not installed" % name)
        room(seer, gigabytes)
        folder = seer.work / "model"
        made = seer.bare("bare.py", "make", str(folder), str(gigabytes if seer.device == "cuda" else 0), seer.device)
        starts = [seer.bare("bare.py", "start", str(folder), seer.device) for _ in range(2)]  # the first reads from the disk
        bare = min(starts, key=lambda found: found["seconds"])
        return Model(folder, label, bare["seconds"], bare["token"]), "%.1f billion parameters, %.1f GB; bare start to token %.1f s (%s)" % (
            made["parameters"] / 1e9, made["bytes"] / 1e9, bare["seconds"], parts(bare))

    found: Optional[Model] = checks.run("floor: " + label, make)
    return found


def parts(found: dict) -> str:
    return "import %(import_s).1f s, load %(load_s).1f s" % found


def loading(checks: Checks, seer: Seer, model: Optional[Model]) -> None:
    checks.run("%s: Seer's loader against from_pretrained" % label_of(model), loaders, seer, model)


def loaders(seer: Seer, model: Optional[Model]) -> str:
    """The better of two each, in turns."""
    where = str(folder_of(model))
    ours, theirs = [], []
    for _ in range(2):
        theirs.append(seer.bare("bare.py", "load", where, seer.device)["seconds"])
        ours.append(seer.bare("bare.py", "load", where, seer.device, str(LOADER))["seconds"])
    ratio = min(ours) / min(theirs)
    note = "%.2f s, %.2f × from_pretrained(device_map=%r) with %.2f s" % (min(ours), ratio, seer.device, min(theirs))
    assert seer.device != "cuda" or ratio <= MOST, "%s, more than %.2f ×" % (note, MOST)
    return note


def served_model(checks: Checks, seer: Seer, kind: str, model: Optional[Model]) -> None:
    checks.run("%s: %s, start to first token" % (kind, label_of(model)), first_token, seer, kind, model)


def first_token(seer: Seer, kind: str, model: Optional[Model]) -> str:
    folder_of(model)
    with seer.sandbox("check-gpu-model", kind, models=["./model"]) as up:
        serve, call, found = serve_and_call(seer, "check-gpu-model")
        check_token(seer, model, found)
        return "up %.1f s, serve %.1f s (%s), call %.1f s: %.1f × bare" % (
            up, serve, parts(found), call, (up + serve + call) / model.bare)  # type: ignore[union-attr]


def serve_and_call(seer: Seer, name: str) -> Tuple[float, float, dict]:
    """Seconds of each, and what the model says."""
    serve = seer.serve(name, "served_model.py", "model")
    seconds, found = call(seer, name)
    return serve, seconds, found


def call(seer: Seer, name: str) -> Tuple[float, dict]:
    begun = time.monotonic()
    found = seer.json("call", name, "model.token", "text=the fox")
    return time.monotonic() - begun, found


def check_token(seer: Seer, model: Optional[Model], found: dict) -> None:
    """The same as of the bare program."""
    assert found["device"].partition(":")[0] == seer.device, "the model is on %s" % found["device"]
    assert model is not None and found["token"] == model.token, "the token is %s, and of the bare program %s" % (found["token"], model)


def label_of(model: Optional[Model]) -> str:
    return model.label if model is not None else "a model"


def folder_of(model: Optional[Model]) -> Path:
    if model is None:
        raise NotPossible("there is no model")
    return model.folder
