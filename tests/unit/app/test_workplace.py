"""Where operations about files work: anywhere in process, inside one folder for callers of a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_memory.app.workplace import Workplace
from agent_memory.models.errors import Denied, InvalidInput


def test_in_process_it_is_the_working_directory_of_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = Workplace()
    (tmp_path / "one").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    assert free.folder() == (tmp_path / "one").resolve()
    monkeypatch.chdir(tmp_path)
    assert free.folder("one") == (tmp_path / "one").resolve()
    assert free.folder("/") == Path("/")


def test_a_server_is_held_to_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "root" / "inner").mkdir(parents=True)
    (tmp_path / "root" / "out").symlink_to(tmp_path)
    held = Workplace.bound(tmp_path / "root")
    monkeypatch.chdir("/")
    assert held.folder() == (tmp_path / "root").resolve()
    assert held.folder("inner") == held.folder(str(tmp_path / "root" / "inner"))
    for outside in ("..", "/", "inner/../..", "out", "out/root/..", str(tmp_path), "~"):
        with pytest.raises(Denied, match="outside the folder of this server"):
            held.folder(outside)


@pytest.mark.parametrize("asked", ["no such folder", "a\0b", "x" * 10_000, "~nobody-of-this-name/x"])
def test_what_is_no_folder_is_named(asked: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Workplace().folder(asked)
    assert error.value.field == "folder"
