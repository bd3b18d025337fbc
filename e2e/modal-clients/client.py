"""The official Python client against a fake Modal, on both back ends."""

import os
import ssl
import time
import urllib.request

import modal
from freeport import free_port


def fetch(url: str) -> str:
    """Fetches a page as soon as it is served; the certificate is the fake's own."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    end = time.monotonic() + 300
    while True:
        try:
            return urllib.request.urlopen(url, context=context, timeout=60).read().decode()
        except OSError as e:
            if time.monotonic() > end:
                raise AssertionError(f"nothing is served at {url}") from e
            time.sleep(0.05)


def sandbox_works(app: modal.App, image: modal.Image, volume: modal.Volume, gpu: str | None) -> None:
    port = free_port()
    server = f"echo begin $WHO; mkdir site; echo page >site/a; cd site; exec python3 -m http.server {port}"
    sb = modal.Sandbox.create(
        "sh", "-c", server, app=app, image=image, gpu=gpu, timeout=300, encrypted_ports=[port],
        env={"WHO": "me"}, workdir="/workspace", volumes={"/vol": volume}, name="server",
    )
    assert fetch(sb.tunnels()[port].url + "/a") == "page\n"
    assert sb.poll() is None
    assert modal.Sandbox.from_name("python", "server").object_id == sb.object_id

    p = sb.exec("sh", "-c", "echo out $WHO; echo err >&2; cat; exit 3")
    p.stdin.write("in\n")
    p.stdin.write_eof()
    p.stdin.drain()
    assert (p.stdout.read(), p.stderr.read(), p.wait()) == ("out me\nin\n", "err\n", 3)

    sb.filesystem.write_text("text é\n", "/workspace/deep/file")
    assert sb.exec("cat", "/workspace/deep/file").stdout.read() == "text é\n"
    assert sb.filesystem.read_text("/workspace/site/a") == "page\n"
    assert [f.name for f in sb.filesystem.list_files("/workspace/deep")] == ["file"]
    sb.filesystem.write_text(f"{gpu}\n", f"/vol/{gpu}")

    sb.set_tags({"kind": "server"})
    found = modal.Sandbox.list(app_id=app.app_id, tags={"kind": "server"})
    assert [s.object_id for s in found] == [sb.object_id]

    saved = sb.snapshot_filesystem()
    sb.terminate()
    sb.wait(raise_on_termination=False)
    assert sb.stdout.read() == "begin me\n", sb.stdout.read()
    assert [s.object_id for s in modal.Sandbox.list(app_id=app.app_id)] == []

    again = modal.Sandbox.create("cat", "deep/file", app=app, image=saved, gpu=gpu, workdir="/workspace", volumes={"/vol": volume})
    again.wait()
    assert (again.stdout.read(), again.returncode) == ("text é\n", 0)


def main() -> None:
    app = modal.App.lookup("python", create_if_missing=True)
    volume = modal.Volume.from_name("data", create_if_missing=True)
    image = modal.Image.debian_slim(python_version="3.12").apt_install("git").pip_install("numpy")
    for gpu in (None, "H100"):
        sandbox_works(app, image, volume, gpu)
        print("python:", gpu or "cpu")

    with modal.App("unnamed").run() as passing:
        with_file = image.add_local_file(__file__, "/workspace/deep/client.py")
        sb = modal.Sandbox.create("wc", "-c", "/workspace/deep/client.py", app=passing, image=with_file)
        assert sb.stdout.read().split()[0] == str(os.path.getsize(__file__))

    try:
        modal.Sandbox.create(app=app, image=image.pip_install("no-such-package"))
        raise AssertionError("the build does not fail")
    except modal.exception.RemoteError as e:
        assert "pip install no-such-package" in str(e), e
    try:
        modal.Sandbox.create(app=app, image=image, gpu="no-such-gpu")
        raise AssertionError("there is such a GPU")
    except modal.exception.InvalidError as e:
        assert "Invalid GPU type" in str(e), e
    modal.Volume.objects.delete("data")


main()
