"""Served in a sandbox: tensors on its device."""

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LARGE = {}


@expose  # noqa: F821 - it is there in an interface
def about() -> dict:
    """What the sandbox sees."""
    return {"device": DEVICE, "count": torch.cuda.device_count(), "name": torch.cuda.get_device_name(0) if DEVICE == "cuda" else "the CPU"}


@expose  # noqa: F821
def made(dtype: str) -> list:
    """24 numbers as they are, transposed, every second, none and one."""
    t = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4).to(getattr(torch, dtype)).to(DEVICE)
    return [t, t.transpose(0, 2), t[:, ::2], t[:0], t[1, 1, 1]]


@expose  # noqa: F821
def same(value: torch.Tensor) -> torch.Tensor:
    """Through the device and back."""
    return value.to(DEVICE)


@expose  # noqa: F821
def states(layers: int) -> list:
    """Hidden states in bfloat16."""
    return [torch.full((64, 128), float(n), dtype=torch.bfloat16, device=DEVICE) for n in range(layers)]


@expose  # noqa: F821
def total(value: torch.Tensor) -> float:
    """The sum of a tensor, which a slice of a handle may be."""
    assert value.device.type == DEVICE, value.device
    return float(value.float().sum())


@expose  # noqa: F821
def steps(count: int):
    """Yields tensors."""
    for n in range(count):
        yield torch.full((2,), n, device=DEVICE, dtype=torch.float16)


@expose  # noqa: F821
def large(megabytes: int) -> torch.Tensor:
    """The same tensor each time."""
    if megabytes not in LARGE:
        LARGE[megabytes] = torch.randn(megabytes << 18, device=DEVICE)
    return LARGE[megabytes]
