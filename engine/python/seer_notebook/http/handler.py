"""What all requests share: who may ask, how a body is read, how an answer and an error look."""

from __future__ import annotations

import functools
import hmac
import json
import re
from typing import Any, Awaitable, Callable, Dict, Mapping

from jupyter_server.auth.identity import User
from jupyter_server.base.handlers import APIHandler
from tornado import iostream, web

from ..errors import CODES, STATUS, Refused
from ..sessions.service import Service

Method = Callable[..., Awaitable[Any]]
_HALF = re.compile("[\ud800-\udfff]")  # json joins those of a pair
_AGENT = User(username="agent")
_NAMES = {str: "a text", int: "a whole number", bool: "true or false", list: "a list"}


class Handler(APIHandler):
    """JSON in, JSON out. What leaves has no hidden word in it."""

    auth_resource = "contents"

    async def prepare(self) -> None:  # type: ignore[override]
        """Who has the token in a header is known at once, and needs no cookie to be known again."""
        kind, _, token = self.request.headers.get("Authorization", "").partition(" ")
        known = self.identity_provider.token
        if known and kind.lower() in ("bearer", "token") and hmac.compare_digest(token.encode(), known.encode()):
            self._jupyter_current_user, self._token_authenticated = _AGENT, True
        await super().prepare()

    def _log(self) -> None:
        if self.get_status() >= 400:
            super()._log()

    @property
    def service(self) -> Service:
        found: Service = self.settings["seer_notebook"]
        return found

    def say(self, value: Any, status: int = 200) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(value))

    def body(self, fields: Mapping[str, Any], needed: str = "") -> Dict[str, Any]:
        """The fields of the request, those that are missing as None."""
        try:
            found = whole(json.loads(self.request.body or b"{}"))
        except (ValueError, RecursionError) as e:
            raise Refused("invalid", "the body is not JSON: %s" % e) from None
        if not isinstance(found, dict):
            raise Refused("invalid", "the body must be a JSON object")
        for key, value in found.items():
            if key not in fields:
                raise Refused("invalid", "the field %r is not known; known are %s" % (key, ", ".join(sorted(fields))))
            if value is not None and (not isinstance(value, fields[key]) or (fields[key] is int and isinstance(value, bool))):
                raise Refused("invalid", "%s must be %s" % (key, _NAMES[fields[key]]))
        for key in needed.split():
            if found.get(key) is None:
                raise Refused("invalid", "%s is missing" % key)
        return {key: found.get(key) for key in fields}

    def number(self, name: str, default: float, whole: bool = True) -> Any:
        text = self.get_query_argument(name, "")
        try:
            value = (int(text) if whole else float(text)) if text else default
            if value < 0 or value != value or value in (float("inf"),):
                raise ValueError
            return value
        except ValueError:
            raise Refused("invalid", "%s=%s must be a number, not below 0" % (name, text)) from None

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = (kwargs.get("exc_info") or (None, None, None))[1]
        message = "not authorized: every request needs Jupyter's token" if status_code in (401, 403) else self._reason
        if isinstance(error, web.HTTPError) and error.log_message and status_code < 500:
            message = error.log_message % error.args if error.args else error.log_message
        code = "forbidden" if status_code in (401, 403) else CODES.get(status_code, "internal" if status_code >= 500 else "invalid")
        self.set_status(403 if status_code == 401 else status_code)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps({"error": {"code": code, "message": str(message)}}))


def whole(value: Any) -> Any:
    """JSON can name half of a surrogate pair, with which no notebook could be saved: such halves become the replacement character."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {whole(k): whole(v) for k, v in value.items()}
    return [whole(v) for v in value] if isinstance(value, list) else value


def answers(method: Method) -> Any:
    """For the methods of a handler: only for who is authenticated; Refused becomes its error."""

    @functools.wraps(method)
    async def asked(self: Handler, *args: str) -> None:
        try:
            await method(self, *args)
        except Refused as e:
            refuse(self, e.code, e.message)
        except iostream.StreamClosedError:
            pass  # who has asked is gone
        except web.HTTPError:
            raise
        except Exception as e:
            self.log.exception("%s %s", self.request.method, self.request.path)
            refuse(self, "internal", "%s: %s" % (type(e).__name__, e))

    return web.authenticated(asked)


def refuse(handler: Handler, code: str, message: str) -> None:
    if handler._finished:
        return
    if handler._headers_written:  # the end of the lines is missing, and that is how it is seen
        handler.request.connection.stream.close()  # type: ignore[union-attr]
        return
    handler.say({"error": {"code": code, "message": message}}, STATUS[code])


