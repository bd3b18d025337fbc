"""What a server does that finds itself in a copy of its sandbox: other keys, and random numbers of its own."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Dict

from ..errors import Refused
from ..http.handler import Handler, answers
from ..sessions.session import Session
from ..settings import Mistake, Settings, setup_cells, slashes

RESEED = """
def _reseed():
    import os, sys
    if "random" in sys.modules:
        sys.modules["random"].seed()
    for name in ("numpy.random", "torch"):
        try:
            sys.modules[name].seed()
        except Exception:
            pass
    if "ssl" in sys.modules:
        sys.modules["ssl"].RAND_add(os.urandom(64), 64.0)
_reseed()
del _reseed
"""
COOKIES = "cookie_secret"  # in the private folder, too
KEPT = "renewed.json"  # in the private folder: what a server that is started again uses in the place of the configuration


def kept(private: str, s: Settings) -> Settings:
    """The settings that count: those of the configuration, with what has changed since."""
    found = read(private)
    setup = setup_cells(found["setup"]) if "setup" in found else s.setup
    return dataclasses.replace(s, token=found.get("token", s.token), base_url=found.get("base_url", s.base_url), setup=setup)


def read(private: str) -> Dict[str, Any]:
    try:
        with open(os.path.join(private, KEPT), encoding="utf-8") as f:
            found: Dict[str, Any] = json.load(f)
            return found
    except (OSError, ValueError):
        return {}


class Renew(Handler):
    """POST seer/v1/renew {"token", "base_url"}: from then on only that token opens anything, no cookie of before does, and
    everything is below the new path."""

    @answers
    async def post(self) -> None:
        asked = self.body({"token": str, "base_url": str}, "token")
        if not 16 <= len(asked["token"]) <= 1000:
            raise Refused("invalid", "token must have 16 to 1000 characters")
        path: Any = self.settings["seer_base_path"]
        try:
            base = path.base if asked["base_url"] is None else slashes(asked["base_url"])
        except Mistake as e:
            raise Refused("invalid", str(e)) from None
        kernels = 0
        for session in list(self.service.sessions.values()):
            kernels += await reseed(session)
        save(self.service.private, {"token": asked["token"], "base_url": base})
        app: Any = self.service.app
        app.identity_provider.token = asked["token"]
        self.service.settings = dataclasses.replace(self.service.settings, token=asked["token"], base_url=base)
        app.cookie_secret = os.urandom(32)
        forget(app.cookie_secret_file)  # a server that is started again has yet another one
        app.web_app.settings["cookie_secret"] = app.cookie_secret
        path.move(base)
        self.say({"kernels": kernels})


def forget(file: str) -> None:
    try:
        os.unlink(file)
    except FileNotFoundError:
        pass


def save(private: str, changed: Dict[str, Any]) -> None:
    """Keeps what has changed beside what has changed before."""
    changed = {**read(private), **changed}
    part = os.path.join(private, KEPT + ".part")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as f:
        json.dump(changed, f)
    os.replace(part, os.path.join(private, KEPT))


async def reseed(session: Session) -> int:
    """At once where the kernel is idle, else before the next cell."""
    if session.state not in ("idle", "busy", "prepared"):
        return 0
    if not session.busy:
        await session.kernel.run(RESEED, lambda kind, content: None, silent=True)
        return 1
    execution = session.service.execution(session, None, RESEED)
    execution.hidden = True
    session.enqueue(execution)
    session.queue.remove(execution)
    session.queue.appendleft(execution)
    return 1
