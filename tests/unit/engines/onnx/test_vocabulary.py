"""The vocabulary knows each of its lines, and notices when it is not the one we were built with."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_memory.engines.onnx import vocabulary
from agent_memory.models.errors import PartMissing


def test_every_piece_has_the_number_of_its_line() -> None:
    words = vocabulary.load()
    pieces = vocabulary.FILE.read_text("utf-8").splitlines()
    assert len(pieces) == 30_522
    assert [words.find(piece) for piece in pieces] == list(range(30_522))


@pytest.mark.parametrize("piece", ["", "zzzzqq", "##zzzzqq", "Hello", "x" * 200, "\x00", "~~"])
def test_an_unknown_piece_has_none(piece: str) -> None:
    assert vocabulary.load().find(piece) is None


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    changed = tmp_path / "vocab.txt"
    changed.write_bytes(vocabulary.FILE.read_bytes().replace(b"hello\n", b"hallo\n"))
    with pytest.raises(PartMissing, match="not the vocabulary") as caught:
        vocabulary.load(changed)
    assert "pip install" in caught.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PartMissing, match="gone"):
        vocabulary.load(tmp_path / "gone")


def test_its_origin_is_written_beside_it() -> None:
    note = vocabulary.FILE.with_name("VOCAB.md").read_text("utf-8")
    assert vocabulary.SHA256 in note
    assert "Apache-2.0" in note
