"""Requests of an agent to its language model: through the proxy that counts them, and directly."""

from typing import List

from lab import Lab
from measure import Row, in_turns

ROUNDS, BATCH = 15, 60
PEER = "the same request to the scripted model, Go's `net/http`"


def measure(lab: Lab) -> List[Row]:
    rows = []
    for first, what in ((True, "a streamed answer through the proxy, until its first byte"), (False, "the same, the whole of 200 words")):
        found = in_turns({
            "proxy": lab.repeated("ask", first=first),
            "direct": lab.repeated("ask", first=first, direct=True),
        }, ROUNDS, BATCH, warm=10)
        rows.append(Row(what, "–", found["proxy"], PEER, found["direct"]))
    return rows
