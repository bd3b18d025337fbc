"""Programs of the documentation in a pytest and in a notebook, whose event loop runs."""

import runpy
import shutil
from pathlib import Path

from jupyter_client.manager import start_new_kernel

HERE = Path(__file__).parent
HANGS = 600  # seconds


def test_in_a_pytest(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(HERE / "agent.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "- **num_layers**: 2" in said and "- **embedding**: 32 numbers" in said


def test_in_a_notebook(tmp_path):
    for program in HERE.glob("*.py"):  # a folder without the sessions of other programs
        shutil.copy(program, tmp_path)
    manager, kernel = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    said = []
    try:
        code = (HERE / "scoped.py").read_text().replace("asyncio.run(main())", "await main()")
        reply = kernel.execute_interactive(code, allow_stdin=False, timeout=HANGS, output_hook=lambda m: said.append(m["content"]))
    finally:
        kernel.stop_channels()
        manager.shutdown_kernel()
    assert reply["content"]["status"] == "ok", reply["content"]
    text = "".join(c.get("text", "") for c in said)
    assert "a library of get_activations" in text and "an agent with tools" in text, text
