"""The end of a machine that its provider bills until it is asked for."""
import json
import re
import time

from .system import conceal, say

SELF_END = "SEER_SELF_END"
PATIENCE = 300  # seconds in which the machine's end is asked for


class SelfEnd:
    """The request that ends this machine, where its end does not end the bill. See sdk.SelfEnd."""

    def __init__(self):
        text = conceal(SELF_END)
        self.request, self.values = json.loads(text) if text else None, {}
        if text:  # now: later, foreign code may have changed what lies on the disk, certificates among it
            import encodings.idna  # noqa: F401
            import ssl
            import urllib.request
            self.https = urllib.request.HTTPSHandler(context=ssl.create_default_context())
        for name in sorted(set(re.findall(r"{(\w+)}", text or ""))):
            value = conceal(name)
            if value is None:
                say("%s needs the variable %s, which is not set", SELF_END, name)
            else:
                self.values[name] = value

    def fill(self, text):
        return re.sub(r"{(\w+)}", lambda m: self.values.get(m[1], m[0]), text)

    def make(self):
        """Asks until the machine's end is accepted, or too much time has passed."""
        if not self.request:
            return
        began, pause = time.time(), 1
        while True:
            for way in [self.request] + (self.request.get("otherwise") or []):
                why = self.attempt(way)
                if not why:
                    return
                say("the end of this machine was asked for in vain: %s", why)
            if time.time() + pause > began + PATIENCE:
                say("nobody ends this machine, and it may go on costing money")
                return
            time.sleep(pause)
            pause = min(2 * pause, 60)

    def attempt(self, way):
        import urllib.error
        import urllib.request

        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None  # the credential goes nowhere else

        try:
            method, body = way["method"], self.fill(way.get("body") or "").encode()
            headers = {name: self.fill(value) for name, value in (self.request.get("headers") or {}).items()}
            request = urllib.request.Request(self.fill(way["url"]), body if method == "POST" else None, headers, method=method)
            with urllib.request.build_opener(Stay, self.https).open(request, timeout=10):
                return None
        except urllib.error.HTTPError as e:
            return None if e.code == 404 else "HTTP status %d" % e.code
        except Exception as e:
            return getattr(e, "reason", None) or repr(e)
