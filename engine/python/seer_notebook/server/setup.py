"""The set-up of kernels, given while the server runs: for a workspace that comes after the sandbox."""

from __future__ import annotations

from typing import Any, Dict

from ..errors import Refused
from ..http import keys
from ..http.handler import Handler, answers
from ..settings import Mistake, setup_cells
from . import renew


class SetUp(Handler):
    """PUT seer/v1/setup {"setup", "key"}: later kernels begin with these cells, and one is prepared with them. If they fail, those before
    count again."""

    @answers
    async def put(self) -> None:
        asked = self.body({"setup": list, "key": str}, "setup")
        try:
            cells = setup_cells(asked["setup"])
        except Mistake as e:
            raise Refused("invalid", str(e)) from None

        async def begin() -> Dict[str, Any]:
            made = self.service.describe(await self.service.set_up(cells))
            renew.save(self.service.private, {"setup": asked["setup"]})
            return made

        self.say(await keys.once(self.service.keys, asked["key"], begin))
