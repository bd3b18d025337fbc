"""What the agent does with the library."""

import os

import tools

answer = tools.add(2, 3)
print("the answer is", answer)
with open(os.path.join(os.environ["SEER_OUTPUTS"], "answer é.txt"), "w", encoding="utf-8") as f:
    f.write(str(answer))
