# The guide's task: get the model info and an embedding for "hello world", then
# format the results.
from pathlib import Path

import helpers
import model_tools

info = model_tools.get_model_info()
embedding = model_tools.get_embedding("hello world")["embedding"]
result = {**info, "embedding": f"{len(embedding)} numbers, first {embedding[0]:.3f}"}
Path("outputs").mkdir(exist_ok=True)
Path("outputs/report.md").write_text(helpers.format_result(result) + "\n")
print(helpers.format_result(result))
