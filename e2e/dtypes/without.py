"""A program without torch and NumPy uses the same library."""

import importlib.util

import tools

assert importlib.util.find_spec("torch") is None and importlib.util.find_spec("numpy") is None
got = tools.made("bfloat16")
assert (got["whole"].dtype, got["whole"].shape, got["number"]) == ("bfloat16", (2, 3, 4), 17.0), got
assert got["strided"].tolist()[1] == [[1.0, 13.0], [9.0, 21.0]], got["strided"].tolist()
assert tools.seen(got["whole"]) == "torch.Tensor torch.bfloat16"  # it goes back as what it was
assert tools.states.handle()[-1].tolist()[0] == [2.0] * 8
print("arrays for who has no torch")
