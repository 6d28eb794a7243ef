"""The real Ollama, as `make models` builds it, with the tiny model of `llamacpp.py`."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from tests.parts.llamacpp import write_model

from patience import PATIENCE, until

TEMPLATE = """\
{{ if .Tools }}<tools>{{ range .Tools }}
{{ . }}{{ end }}
</tools>
For each call answer with <tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>
{{ end }}{{ range .Messages }}<|{{ .Role }}|>
{{ .Content }}
{{ range .ToolCalls }}<tool_call>
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
</tool_call>
{{ end }}{{ end }}<|assistant|>
"""
MODEL = "tiny"


@contextmanager
def started() -> Iterator[str]:
    """Its address. What it writes is gone afterwards."""
    program = os.environ.get("OLLAMA")
    assert program and Path(program).exists(), "the real Ollama is not there: run `make models`"
    with tempfile.TemporaryDirectory(prefix="agent-memory-ollama-") as name, socket.socket() as free:
        folder = Path(name)
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        free.close()
        environment = os.environ | {"OLLAMA_HOST": address, "OLLAMA_MODELS": f"{name}/models", "HOME": name}
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([program, "serve"], env=environment, stdout=log, stderr=log)
        try:
            until(lambda: process.poll() is not None or _answers(f"http://{address}"))
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            model = write_model(folder / "tiny.gguf")
            (folder / "Modelfile").write_text(f'FROM {model}\nTEMPLATE """{TEMPLATE}"""\nPARAMETER temperature 0\n')
            made = [program, "create", MODEL, "-f", str(folder / "Modelfile")]
            subprocess.run(made, env=environment, check=True, capture_output=True)
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait(60)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/api/version", timeout=PATIENCE).status_code == 200
    except httpx.TransportError:
        return False
