import time


@expose
def echo(text: str) -> str:
    return text


@expose
def slow(seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.05)
    return "done"
