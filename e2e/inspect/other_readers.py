"""Reads the logs of runs with Scout and with Docent's loader.

usage: other_readers.py FOLDER
"""

import asyncio
import sys
from pathlib import Path

from docent.loaders.load_inspect import runs_from_file
from inspect_scout import transcripts_from
from inspect_scout._transcript.types import TranscriptContent

folder = Path(sys.argv[1])


async def scout() -> dict[str, tuple]:
    """What Scout finds in each log: model, tokens, numbers of messages and of events."""
    found = {}
    async with transcripts_from(str(folder)).reader() as reader:
        async for info in reader.index():
            read = await reader.read(info, TranscriptContent(messages="all", events="all"))
            found[Path(info.source_uri).stem] = (info.model, info.total_tokens, len(read.messages), len(read.events))
    return found


found = asyncio.run(scout())
assert len(found) == 7 and found["sample"][:3] == ("model-large", 15070, 9) and found["long"][2] == 10_000, found

with (folder / "sample.eval").open("rb") as file:
    _, runs = runs_from_file(file, "eval")
    (run,) = list(runs)
roles = [m.role for m in run.transcripts[0].messages]
assert roles[0] == "user" and roles.count("tool") == 3 and roles[-1] == "assistant", roles
print("Scout and Docent read the logs of runs")
