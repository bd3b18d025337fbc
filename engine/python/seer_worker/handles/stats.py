"""Figures of arrays and tensors, piece by piece where these lie, so that none is copied as a whole."""

import math
from typing import Any, Dict, Iterator, List, Optional

from ..values.types import EXTENDED_FLOATS

_PIECE = 4 << 20  # elements


class _Sum:
    """Count, mean and squared deviations, of pieces that come one after the other."""

    def __init__(self) -> None:
        self.count = self.nan = 0
        self.mean = self.squares = 0.0
        self.least, self.most = math.inf, -math.inf

    def add(self, count: int, nan: int, least: float, most: float, mean: float, squares: float) -> None:
        self.nan += nan
        if not count:
            return
        both, apart = self.count + count, mean - self.mean
        self.mean += apart * count / both
        self.squares += squares + apart * apart * self.count * count / both
        self.count = both
        self.least, self.most = min(self.least, least), max(self.most, most)

    def stats(self) -> Dict[str, float]:
        if not self.count:
            return {"nan": self.nan}
        return {"min": self.least, "max": self.most, "mean": self.mean, "std": math.sqrt(max(0.0, self.squares) / self.count)
                if math.isfinite(self.squares) else math.nan, "nan": self.nan}


def array_stats(numpy: Any, array: Any) -> Optional[Dict[str, float]]:
    """None for what has no numbers that have an order."""
    if array.dtype.kind not in "biuf" and array.dtype.name not in EXTENDED_FLOATS:
        return None
    total = _Sum()
    flags = ["external_loop", "buffered", "zerosize_ok"]
    for piece in numpy.nditer(array, flags=flags, buffersize=_PIECE, order="K") if array.size else ():
        numbers = piece.astype("f8") if piece.dtype != numpy.float64 else piece
        missing = numpy.isnan(numbers)
        nan = int(numpy.count_nonzero(missing))
        numbers = numbers[~missing] if nan else numbers
        if numbers.size:
            with numpy.errstate(all="ignore"):
                mean = float(numbers.mean())
                squares = float(numpy.square(numbers - mean).sum())
            total.add(numbers.size, nan, float(numbers.min()), float(numbers.max()), mean, squares)
        else:
            total.add(0, nan, 0, 0, 0, 0)
    return total.stats()


def tensor_stats(torch: Any, tensor: Any) -> Optional[Dict[str, float]]:
    """The same. What is on another device is calculated there, and only the figures are moved, once."""
    if tensor.is_complex() or tensor.layout != torch.strided or tensor.device.type == "meta" or getattr(tensor, "is_quantized", False):
        return None
    total, rows = _Sum(), []
    wide = torch.float32 if tensor.device.type == "mps" else torch.float64
    with torch.no_grad():
        for piece in _pieces(tensor.detach()):
            numbers = piece.reshape(-1).to(wide)
            missing = torch.isnan(numbers)
            good = ~missing
            count = good.sum()
            filled = torch.where(good, numbers, torch.zeros_like(numbers))
            mean = filled.sum() / count.clamp(min=1)
            squares = torch.where(good, (numbers - mean) ** 2, torch.zeros_like(numbers)).sum()
            least = torch.where(good, numbers, torch.full_like(numbers, math.inf)).min()
            most = torch.where(good, numbers, torch.full_like(numbers, -math.inf)).max()
            rows.append(torch.stack([count.to(wide), missing.sum().to(wide), least, most, mean, squares]))
        found: List[List[float]] = torch.stack(rows).cpu().tolist() if rows else []
    for count, nan, *rest in found:
        total.add(int(count), int(nan), *rest)
    return total.stats()


def _pieces(tensor: Any) -> Iterator[Any]:
    """Views of the tensor, none of them large."""
    if not tensor.numel():
        return
    if tensor.numel() <= _PIECE:
        yield tensor
    elif tensor.is_contiguous():
        yield from tensor.view(-1).split(_PIECE)
    else:
        longest = max(range(tensor.dim()), key=lambda d: tensor.shape[d])
        for half in tensor.split((tensor.shape[longest] + 1) // 2, dim=longest):
            yield from _pieces(half)
