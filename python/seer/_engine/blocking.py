"""Methods and functions in two forms: ``x.start()`` waits, ``await x.start.aio()`` does not block
the loop. blocking.pyi has the types, as typing is imported by nothing that ``Sandbox`` needs."""


class blocking:
    """Makes a function or a method of a coroutine function: see the module.

    Arguments of wrong types are one ConfigError. An error is raised here again, so that a traceback
    has one frame behind the caller's line. Plain Python always has that frame; pytest and IPython
    hide it.
    """

    def __init__(self, work, bound=()):
        self._work, self._bound = work, bound
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):  # functools.wraps would cost its import
            setattr(self, name, getattr(work, name))
        self.__wrapped__ = work

    def __call__(self, *args, **kwargs):
        __tracebackhide__ = True
        from ..errors import Error
        from . import loop

        try:
            return self._returned(loop.wait(self._begun(args, kwargs)))
        except Error as e:
            raise e.with_traceback(None) from e.__cause__

    def aio(self, *args, **kwargs):
        """The same as a coroutine of the caller's own loop."""
        import asyncio

        from ..errors import Error
        from . import loop

        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError("aio needs a running event loop: await it in a coroutine, or call without .aio") from None
        try:
            begun = loop.submit(self._begun(args, kwargs))
        except Error as e:  # it is raised where the call is awaited
            failed = here.create_future()
            failed.set_exception(e.with_traceback(None))
            return failed
        begun.add_done_callback(_forget_frames)
        return asyncio.wrap_future(begun)

    def __get__(self, of, owner=None):
        return self if of is None else type(self)(self._work, (of,))

    def _begun(self, args, kwargs):
        from .arguments import check

        work = self._work(*self._bound, *args, **kwargs)
        try:
            check(self._work, (*self._bound, *args), kwargs, len(self._bound))
        except BaseException:
            work.close()
            raise
        return work

    def _returned(self, result):
        return result


class blocking_class(blocking):
    """The same for a method of the class."""

    def __get__(self, of, owner=None):
        return type(self)(self._work, (owner,))


class blocking_session(blocking):
    """The same for a function that makes a session, which the caller's context then has."""

    async def aio(self, *args, **kwargs):
        """The same as a coroutine of the caller's own loop."""
        __tracebackhide__ = True
        from ..errors import Error

        try:
            return self._returned(await super().aio(*args, **kwargs))
        except Error as e:
            raise e.with_traceback(None) from e.__cause__

    def _returned(self, session):
        from . import sessions

        sessions.add(session)
        return session


blocking_self = blocking


def _forget_frames(future):
    from ..errors import Error

    if not future.cancelled() and isinstance(future.exception(), Error):
        future.exception().__traceback__ = None
