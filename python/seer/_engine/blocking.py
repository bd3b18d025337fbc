"""Methods and functions in two forms: ``x.start()`` waits, ``await x.start.aio()`` does not block
the loop. blocking.pyi has the types, as typing is imported by nothing that ``Sandbox`` needs."""


def _waited(work):
    """Waits for work. An error is raised here again, so that its traceback ends behind the
    caller's line; pytest and IPython hide the rest, too."""
    from ..errors import Error
    from . import loop

    __tracebackhide__ = True
    try:
        return loop.wait(work)
    except Error as e:
        raise e.with_traceback(None) from e.__cause__


def _awaited(work):
    import asyncio

    from . import loop

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        work.close()
        raise RuntimeError("aio needs a running event loop: await it in a coroutine, or call without .aio") from None
    return asyncio.wrap_future(loop.submit(work))


def _named_as(wrapper, work):
    """What functools.update_wrapper does, without its import."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(wrapper, name, getattr(work, name))
    wrapper.__wrapped__ = work


class Call:
    """A method of an object. Call it, or await its ``aio``."""

    def __init__(self, work, of):
        self._work, self._of = work, of
        _named_as(self, work)

    def __call__(self, *args, **kwargs):
        __tracebackhide__ = True
        return _waited(self._work(self._of, *args, **kwargs))

    def aio(self, *args, **kwargs):
        """The same as a coroutine of the caller's own loop."""
        return _awaited(self._work(self._of, *args, **kwargs))


class blocking:
    """Makes a method or a function of a coroutine function: see the module."""

    def __init__(self, work):
        self._work = work
        _named_as(self, work)

    def __call__(self, *args, **kwargs):
        __tracebackhide__ = True
        return _waited(self._work(*args, **kwargs))

    def aio(self, *args, **kwargs):
        """The same as a coroutine of the caller's own loop."""
        return _awaited(self._work(*args, **kwargs))

    def __get__(self, of, owner=None):
        return Call(self._work, of if of is not None else owner)


blocking_self = blocking
