"""The memory that a value keeps from being freed. It is what `handle_bytes` counts: a view counts as the whole of its base."""

import gc
import sys
import types
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Set, Tuple, Union

from ..values.types import loaded

Key = Union[int, Tuple[str, int]]  # of a Python object, or of a tensor's storage

_ATOMS = frozenset((int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented)))
_NUMBERS = frozenset((int, float, bool, type(None)))
_PASSED = (type, types.ModuleType, types.CodeType, types.BuiltinFunctionType)  # the program itself, which no handle keeps
_SUSPENDED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
_LARGE = 64 << 10  # an atom of so many bytes is counted once, however many values share it
_CHUNK = 1000  # values looked at together


class Memory(NamedTuple):
    """own bytes are the value's alone; those of each base may be shared with other values. spared bases are not counted."""

    own: int
    bases: Dict[Key, int]
    spared: Set[Key]

    @property
    def total(self) -> int:
        return self.own + sum(self.bases.values())


def memory_of(value: Any, spared: Iterable[Key] = (), enough: int = 1 << 62) -> Memory:
    """What the value holds, found through every object that it leads to. Counting stops where enough is reached."""
    walk = _Walk(frozenset(spared))
    walk.add([value])
    while walk.todo and walk.total < enough:
        chunk = walk.todo[-_CHUNK:]
        del walk.todo[-_CHUNK:]
        walk.visit(chunk)
    return Memory(walk.own, walk.bases, walk.met)


def keys_of(values: Iterable[Any]) -> Set[Key]:
    """The keys of these values and of the memory of those that are arrays or tensors."""
    walk = _Walk(frozenset())
    keys: Set[Key] = set()
    for value in values:
        keys.add(id(value))
        if walk.is_array(value):
            keys.update(id(link) for link in links(value))
        elif walk.is_tensor(value):
            keys.add(storage_of(value)[0])
    return keys


def links(array: Any) -> List[Any]:
    """An array, and what it is a view of, down to the owner of the memory."""
    chain = [array]
    while hasattr(chain[-1], "__array_interface__") and getattr(chain[-1], "base", None) is not None:
        chain.append(chain[-1].base)
    return chain


def storage_of(tensor: Any) -> Tuple[Key, int]:
    """The key of a tensor's storage, and its size."""
    try:
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
        return (str(tensor.device), storage.data_ptr()), int(storage.nbytes())
    except Exception:  # a layout without one storage
        return id(tensor), int(tensor.numel()) * int(tensor.element_size())


class _Walk:
    def __init__(self, spared: "frozenset[Key]") -> None:
        self.own, self.total = 0, 0
        self.bases: Dict[Key, int] = {}
        self.met: Set[Key] = set()
        self.todo: List[Any] = []
        self._spared = spared
        self._seen: Set[int] = set()
        self._alive: List[Any] = []  # what attributes have made: its id must not become another's
        self._array: Any = getattr(loaded("numpy"), "ndarray", ())
        self._tensor: Any = getattr(loaded("torch"), "Tensor", ())
        self._image: Any = getattr(loaded("PIL.Image"), "Image", ())
        self._kinds: Dict[type, Callable[[Any], None]] = {}

    def is_array(self, value: Any) -> bool:
        return issubclass(type(value), self._array)

    def is_tensor(self, value: Any) -> bool:
        return issubclass(type(value), self._tensor)

    def add(self, parts: Iterable[Any]) -> None:
        """Counts small parts now, and the others later, each once."""
        parts = list(parts)
        different = dict(zip(map(id, parts), parts)).values()
        if set(map(type, different)) <= _NUMBERS:
            self.count(sum(map(sys.getsizeof, different)))
            return
        for part in different:
            if type(part) in _ATOMS:
                size = sys.getsizeof(part)
                self.base(id(part), size) if size >= _LARGE else self.count(size)
            elif id(part) not in self._seen:
                self._seen.add(id(part))
                self.todo.append(part)

    def count(self, size: int) -> None:
        self.own += size
        self.total += size

    def base(self, key: Key, size: int) -> None:
        if key in self._spared:
            self.met.add(key)
        elif size > self.bases.get(key, 0):
            self.total += size - self.bases.get(key, 0)
            self.bases[key] = size

    def visit(self, parts: List[Any]) -> None:
        plain = []
        for part in parts:
            kind = type(part)
            if kind not in self._kinds:
                self._kinds[kind] = self._kind(part)
            if id(part) in self._spared:
                self.met.add(id(part))
            elif self._kinds[kind] == self._plain or kind is dict and "__name__" not in part:
                plain.append(part)
            else:
                self._count_one(part, self._kinds[kind])
        self.count(sum(map(_own_size, plain)))
        self.add(gc.get_referents(*plain))

    def _count_one(self, part: Any, count: Callable[[Any], None]) -> None:
        try:
            count(part)
        except Exception:  # an object with broken attributes holds memory, too
            self.count(_own_size(part))
            self.add(gc.get_referents(part))

    def _kind(self, part: Any) -> Callable[[Any], None]:
        """How parts of this one's type are counted."""
        if self.is_array(part):
            return self._of_array
        if self.is_tensor(part):
            return self._of_tensor
        if issubclass(type(part), self._image):
            return self._of_image
        cls = type(part)
        if issubclass(cls, _PASSED):
            return lambda part: None
        if cls is types.FunctionType:
            return lambda part: self.add([part.__closure__, part.__defaults__, part.__kwdefaults__, part.__dict__])
        if cls in _SUSPENDED:
            return self._of_suspended
        if cls is types.FrameType:
            return self._of_frame
        if cls is dict:
            return self._of_dict
        if hasattr(cls, "next_functions"):
            return self._of_gradient
        return self._plain if cls in (list, tuple, set, frozenset) else self._of_other

    def _plain(self, part: Any) -> None:
        """Marks the types of which many are visited together."""

    def _of_dict(self, part: Any) -> None:
        name = part.get("__name__")
        module = sys.modules.get(name) if type(name) is str else None
        if module is None or getattr(module, "__dict__", None) is not part:  # the variables of a module stay without the handle
            self.count(sys.getsizeof(part))
            self.add(gc.get_referents(part))

    def _of_array(self, array: Any) -> None:
        chain = links(array)
        spared = [id(link) for link in chain if id(link) in self._spared]
        if spared:
            self.met.update(spared)
            return
        owner = chain[-1]
        if self.is_array(owner):
            self.base(id(owner), int(owner.nbytes))
            if owner.dtype.hasobject:
                self.add(owner.ravel("K").tolist())
        elif _buffer_size(owner) is None and not self.is_tensor(owner):  # memory of a library that does not say how much it is
            self.base(id(owner), int(array.nbytes))
        else:
            self.add([owner])
        for link in chain:
            self.add([getattr(link, "__dict__", None)])

    def _of_tensor(self, tensor: Any) -> None:
        if "strided" in str(tensor.layout):
            self.base(*storage_of(tensor))
        else:
            self._parts_of(tensor, ("_indices", "_values", "crow_indices", "col_indices", "values"))
        grads = [getattr(tensor, "grad_fn", None), tensor.grad if tensor.is_leaf else None]
        self._alive += grads
        self.add([*grads, getattr(tensor, "__dict__", None)])

    def _parts_of(self, tensor: Any, names: Iterable[str]) -> None:
        for name in names:
            try:
                self._made(getattr(tensor, name)())
            except Exception:  # another layout has it
                pass

    def _of_gradient(self, node: Any) -> None:
        """What automatic differentiation keeps for its way back."""
        self._made([n for n, _ in node.next_functions])
        for name in dir(node):
            if name.startswith("_saved_") or name in ("saved_tensors", "variable"):
                try:
                    self._made(getattr(node, name))
                except Exception:  # it has been used, and let go
                    pass

    def _made(self, value: Any) -> None:
        self._alive.append(value)
        self.add([value])

    def _of_image(self, image: Any) -> None:
        core = image.__dict__.get("im", image.__dict__.get("_im"))
        if core is not None:
            self.base(id(core), image.size[0] * image.size[1] * (1 if image.mode in ("1", "L", "P") else 4))
        self.add(gc.get_referents(image))

    def _of_suspended(self, part: Any) -> None:
        for name in ("gi_frame", "cr_frame", "ag_frame", "gi_yieldfrom", "cr_await", "ag_await"):
            self._made(getattr(part, name, None))

    def _of_frame(self, frame: Any) -> None:
        self._made(dict(frame.f_locals))

    def _of_other(self, part: Any) -> None:
        size = _buffer_size(part)
        if size is None:
            self.count(_own_size(part) + _declared(part))
        elif not isinstance(part, memoryview):
            self.base(id(part), size)
        self.add(gc.get_referents(part))


def _buffer_size(part: Any) -> Any:
    """The bytes that an object lends to others; None if it lends none."""
    try:
        with memoryview(part) as view:
            return view.nbytes
    except (TypeError, ValueError, BufferError):
        return None


def _own_size(part: Any) -> int:
    """Without what a class of the user may say of its size."""
    cls = type(part)
    try:
        return int(sys.getsizeof(part)) if isinstance(cls.__sizeof__, types.MethodDescriptorType) else object.__sizeof__(part)
    except Exception:
        return 64


def _declared(part: Any) -> int:
    """What a type of a library that is not written in Python says of itself."""
    if hasattr(part, "__dict__"):
        return 0
    try:
        size = getattr(part, "nbytes", 0)
    except Exception:
        return 0
    return size if type(size) is int and size > 0 else 0
