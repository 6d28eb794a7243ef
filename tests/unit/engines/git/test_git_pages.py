"""Pages are found wherever people keep repositories, with the commit that they belong to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from agent_memory.engines.git.pages import GitPages
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.ports.pages import Found, PageFile

pytestmark = [pytest.mark.requirement("P1", "P2"), pytest.mark.timeout(60)]
ROOT = os.geteuid() == 0
READ = """
import os, sys
from pathlib import Path
from agent_memory.engines.git.pages import GitPages
for one in GitPages(Path("/nowhere"), os.environ).find(Path(sys.argv[1])).files:
    print(one.path, one.text or one.problem)
"""
AS_ANYBODY = """
import ctypes, os, sys
if os.geteuid() == 0:
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Without these two capabilities root is held to permissions like anybody else."""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "own"


@pytest.fixture
def pages(own_git: None, own: Path) -> GitPages:
    return GitPages(own, os.environ)


def paths(found: Found) -> list[str]:
    return [one.path for one in found.files]


def page(found: Found, path: str = ".memory/rules.md") -> PageFile:
    return next(one for one in found.files if one.path == path)


def test_pages_are_found_upwards_to_the_root_the_nearest_last(repo: Any, pages: GitPages, own: Path) -> None:
    for path in (
        ".memory/procedural.md",
        ".memory/git.md",
        ".memory/working.md",
        ".memory/.#git.md",
        ".memory/notes.txt",
        ".memory/deeper/none.md",
        "AGENTS.md",
        "CLAUDE.md",
        "README.md",
        "skills/deploy/SKILL.md",
        "skills/deploy/README.md",
        ".claude/skills/review/SKILL.md",
        "service/.memory/procedural.md",
        "service/api/AGENTS.md",
        "other/.memory/procedural.md",
        ".git/agent-memory/approved.md",
    ):
        repo.write(path, path)
    own.mkdir()
    (own / "mine.md").write_text("mine")
    (repo.root / "service/api/v1").mkdir()
    found = pages.find(repo.root / "service/api/v1")
    assert paths(found) == [
        str(own / "mine.md"),
        ".git/agent-memory/approved.md",
        "AGENTS.md",
        "CLAUDE.md",
        "skills/deploy/SKILL.md",
        ".claude/skills/review/SKILL.md",
        ".memory/git.md",
        ".memory/procedural.md",
        "service/.memory/procedural.md",
        "service/api/AGENTS.md",
    ]
    assert [one.layer for one in found.files] == ["user", "clone", *["repository"] * 8]
    assert page(found, "AGENTS.md").text == "AGENTS.md"


def test_a_page_says_its_commit_and_whether_it_differs(repo: Any, pages: GitPages) -> None:
    commit = repo.commit(rules="old", same="same", lines="a\nb\n")
    clean = pages.find(repo.root)
    assert {(one.commit, one.dirty) for one in clean.files} == {(commit, False)}
    assert clean.version.model_dump() == dict(commit=commit, ref=None, branch="main", dirty=False, why=None)
    repo.write(".memory/rules.md", "new")
    repo.write(".memory/lines.md", "a\r\nb\r\n")  # as core.autocrlf would leave it
    repo.write(".memory/untracked.md", "x")
    repo.write("elsewhere.txt", "x")
    found = pages.find(repo.root)
    assert {one.path[8:-3]: one.dirty for one in found.files} == dict(
        rules=True, same=False, lines=False, untracked=True
    )
    assert {one.commit for one in found.files} == {commit}
    assert found.version.dirty
    repo.git("add", ".memory/rules.md")
    assert page(pages.find(repo.root)).dirty  # staged is not committed


def test_other_files_do_not_make_it_dirty_and_a_deleted_page_does(repo: Any, pages: GitPages) -> None:
    repo.commit(rules="x", gone="x")
    repo.write("src/main.py", "x")
    assert not pages.find(repo.root).version.dirty
    (repo.root / ".memory/gone.md").unlink()
    assert pages.find(repo.root).version.dirty


def test_any_commit_tag_or_branch_can_be_read(repo: Any, pages: GitPages) -> None:
    first = repo.commit(rules="one", gone="x")
    repo.git("tag", "--annotate", "v0.1", "--message", "first")
    repo.git("branch", "side/way")
    (repo.root / ".memory/gone.md").unlink()
    repo.commit(rules="two")
    repo.write(".memory/rules.md", "three")
    index = (repo.root / ".git/index").read_bytes()
    for ref in (
        "v0.1",
        "HEAD~1",
        "HEAD^",
        "@~1",
        first,
        first[:10],
        "side/way",
        "refs/tags/v0.1",
        "v0.1^0",
    ):
        found = pages.find(repo.root, ref)
        assert page(found).text == "one", ref
        assert found.version.ref == ref and not found.version.dirty
        assert found.version.commit == page(found).commit == first
        assert paths(found) == [".memory/gone.md", ".memory/rules.md"]
    assert (repo.root / ".memory/rules.md").read_text() == "three"
    assert (repo.root / ".git/index").read_bytes() == index
    assert page(pages.find(repo.root)).text == "three"


@pytest.mark.parametrize(
    ("ref", "hint"),
    [("v0.l", "did you mean v0.1"), ("mian", "main"), ("nothing-like-it", "git fetch"), ("abcdef1", "more digits")],
)
def test_an_unknown_ref_is_named_with_what_was_meant(repo: Any, pages: GitPages, ref: str, hint: str) -> None:
    repo.commit(rules="x")
    repo.git("tag", "v0.1")
    with pytest.raises(NotFound, match="at:") as caught:
        pages.find(repo.root, ref)
    assert caught.value.field == "at" and hint in caught.value.hint and ref in caught.value.message


@pytest.mark.parametrize("ref", ["", "-x", "--batch-all-objects", "a\nHEAD", "a\0b", " HEAD", "x" * 2000])
def test_a_ref_that_can_be_none_is_refused(repo: Any, pages: GitPages, ref: str) -> None:
    repo.commit(rules="x")
    with pytest.raises(InvalidInput, match="at:") as caught:
        pages.find(repo.root, ref)
    assert caught.value.field == "at" and caught.value.hint


def test_a_commit_is_what_its_id_says(repo: Any, pages: GitPages) -> None:
    first = repo.commit(rules="one")
    second = repo.commit(rules="two")
    repo.git("replace", first, second)
    assert page(pages.find(repo.root, first)).text == "one"


@pytest.mark.parametrize("ref", ["HEAD:.memory/rules.md", "HEAD^{tree}", "HEAD:.memory"])
def test_what_is_no_commit_is_no_version(repo: Any, pages: GitPages, ref: str) -> None:
    repo.commit(rules="x")
    with pytest.raises(NotFound, match="at:"):
        pages.find(repo.root, ref)


def test_a_folder_that_is_none_is_refused(pages: GitPages, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="folder"):
        pages.find(tmp_path / "nowhere")


class TestRepositories:
    def test_worktrees(self, repo: Any, pages: GitPages, tmp_path: Path) -> None:
        repo.commit(rules="main")
        repo.write(".git/agent-memory/approved.md", "shared")
        tree = tmp_path / "tree"
        repo.git("worktree", "add", "--quiet", "-b", "side", tree)
        other = type(repo)(tree)
        commit = other.commit(rules="side")
        found = pages.find(tree)
        assert page(found).text == "side" and found.version.commit == commit and found.version.branch == "side"
        assert [one.text for one in found.files if one.layer == "clone"] == ["shared"]
        assert page(pages.find(repo.root)).text == "main"
        assert page(pages.find(tree, "main")).text == "main"

    def test_submodules_and_nested_repositories_end_the_walk(self, repo: Any, pages: GitPages, tmp_path: Path) -> None:
        inner = type(repo)(tmp_path / "inner")
        inner.root.mkdir()
        inner.git("init", "--quiet", "--initial-branch=main")
        commit = inner.commit(rules="inner")
        repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.root, "sub")
        repo.commit(rules="outer")
        (repo.root / "sub/deep").mkdir()
        found = pages.find(repo.root / "sub/deep")
        assert [one.text for one in found.files] == ["inner"] and found.version.commit == commit
        shutil.copytree(inner.root, repo.root / "nested")
        assert [one.text for one in pages.find(repo.root / "nested").files] == ["inner"]
        assert [one.text for one in pages.find(repo.root).files] == ["outer"]

    def test_shallow_clones_say_what_they_lack(self, repo: Any, pages: GitPages, tmp_path: Path) -> None:
        first = repo.commit(rules="one")
        last = repo.commit(rules="two")
        repo.git("clone", "--quiet", "--depth=1", f"file://{repo.root}", tmp_path / "shallow")
        found = pages.find(tmp_path / "shallow")
        assert found.version.commit == last and page(found).text == "two"
        for ref in (first, "HEAD~1"):
            with pytest.raises(NotFound, match="shallow"):
                pages.find(tmp_path / "shallow", ref)

    def test_bare_repositories_are_read_at_a_commit(self, repo: Any, pages: GitPages, tmp_path: Path) -> None:
        commit = repo.commit(rules="one")
        repo.git("tag", "v1")
        repo.commit(rules="two")
        bare = tmp_path / "bare.git"
        repo.git("clone", "--quiet", "--bare", repo.root, bare)
        found = pages.find(bare)
        assert page(found).text == "two" and found.version.branch == "main" and not found.version.dirty
        assert page(pages.find(bare / "objects", "v1")).commit == commit

    def test_files_that_look_like_a_bare_repository_hide_no_rules(self, repo: Any, pages: GitPages) -> None:
        repo.git("init", "--quiet", "--bare", "sub")
        repo.write("sub/refs/keep", "")
        commit = repo.commit(rules="outer")
        found = pages.find(repo.root / "sub/objects")
        assert page(found).text == "outer" and found.version.commit == commit

    def test_without_commits(self, repo: Any, pages: GitPages) -> None:
        assert pages.find(repo.root).version.why == "the repository has no commits yet"
        repo.write(".memory/rules.md", "new")
        found = pages.find(repo.root)
        assert page(found).text == "new" and page(found).dirty and page(found).commit is None
        assert found.version.branch == "main" and found.version.dirty
        with pytest.raises(NotFound, match="at:"):
            pages.find(repo.root, "HEAD")

    def test_a_detached_head(self, repo: Any, pages: GitPages) -> None:
        commit = repo.commit(rules="one")
        repo.commit(rules="two")
        repo.git("checkout", "--quiet", "--detach", commit)
        found = pages.find(repo.root)
        assert found.version.commit == commit and found.version.branch is None and not found.version.dirty

    @pytest.mark.parametrize("cone", ["--cone", "--no-cone"])
    def test_what_a_sparse_checkout_leaves_out_holds(self, repo: Any, pages: GitPages, cone: str) -> None:
        repo.write("service/AGENTS.md", "service")
        repo.write("other/x", "x")
        commit = repo.commit(rules="hidden")
        repo.git("sparse-checkout", "set", cone, "service")
        assert not (repo.root / ".memory").exists()
        found = pages.find(repo.root / "service")
        assert [(one.path, one.text) for one in found.files] == [
            (".memory/rules.md", "hidden"),
            ("service/AGENTS.md", "service"),
        ]
        assert found.version.commit == commit and not found.version.dirty
        repo.git("sparse-checkout", "disable")
        repo.write(".memory/rules.md", "edited")
        assert pages.still(found) is None
        assert page(pages.find(repo.root / "service")).text == "edited"

    def test_sha256(self, own_git: None, repo: Any, pages: GitPages, tmp_path: Path) -> None:
        new = type(repo)(tmp_path / "new")
        new.root.mkdir()
        new.git("init", "--quiet", "--object-format=sha256", "--initial-branch=main")
        commit = new.commit(rules="one")
        new.commit(rules="two")
        assert len(commit) == 64
        assert not pages.find(new.root).version.dirty
        assert page(pages.find(new.root, commit)).text == "one"
        assert page(pages.find(new.root, "HEAD~1")).commit == commit

    def test_outside_git(self, pages: GitPages, tmp_path: Path) -> None:
        (tmp_path / "work/deep/er").mkdir(parents=True)
        (tmp_path / "work/.memory").mkdir()
        (tmp_path / "work/.memory/rules.md").write_text("x")
        found = pages.find(tmp_path / "work/deep/er")
        assert paths(found) == [".memory/rules.md"]
        assert found.version.model_dump() == dict(
            commit=None, ref=None, branch=None, dirty=False, why="not in a git repository"
        )
        with pytest.raises(InvalidInput, match="not in a git repository"):
            pages.find(tmp_path / "work", "main")

    @pytest.mark.skipif(not ROOT, reason="only root can give files away")
    def test_outside_git_what_others_put_above_is_not_ours(self, pages: GitPages, tmp_path: Path) -> None:
        (tmp_path / "work").mkdir()
        (tmp_path / ".memory").mkdir()
        (tmp_path / ".memory/rules.md").write_text("x")
        assert paths(pages.find(tmp_path / "work")) == [".memory/rules.md"]
        os.chown(tmp_path / ".memory", 12345, 12345)
        assert paths(pages.find(tmp_path / "work")) == []

    def test_without_a_git_program(self, repo: Any, own: Path) -> None:
        repo.commit(rules="x")
        pages = GitPages(own, {"PATH": "/nowhere"})
        found = pages.find(repo.root)
        assert page(found).text == "x" and found.version.why == "git is not installed"
        assert found.version.branch == "main" and found.version.commit is None
        with pytest.raises(InvalidInput, match="git is not installed"):
            pages.find(repo.root, "HEAD")

    @pytest.mark.skipif(not ROOT, reason="only root can give files away")
    def test_somebody_elses_repository(
        self, repo: Any, pages: GitPages, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commit = repo.commit(rules="x")
        for path in (repo.root, repo.root / ".git"):
            os.chown(path, 12345, 12345)
        monkeypatch.delenv("SUDO_UID", raising=False)
        found = GitPages(own, os.environ).find(repo.root)
        assert page(found).text == "x" and found.version.commit is None
        assert "safe.directory" in found.version.why and str(repo.root) in found.version.why
        with pytest.raises(InvalidInput, match=r"safe\.directory"):
            pages.find(repo.root, "HEAD")
        settings = tmp_path / "gitconfig"
        settings.write_text(f"[safe]\n\tdirectory = {repo.root}\n")
        trusting = GitPages(own, {**os.environ, "GIT_CONFIG_GLOBAL": str(settings)})
        assert trusting.find(repo.root).version.commit == commit

    def test_a_broken_git_folder_is_not_taken_for_the_one_above(self, repo: Any, pages: GitPages) -> None:
        repo.commit(rules="outer")
        repo.write("inner/.git/HEAD", "nonsense")
        repo.write("inner/.memory/rules.md", "inner")
        found = pages.find(repo.root / "inner")
        assert [one.text for one in found.files] == ["inner"]
        assert found.version.commit is None and "git failed" in found.version.why

    def test_where_the_files_of_git_do_not_tell_the_branch_git_does(self, repo: Any, own: Path, tmp_path: Path) -> None:
        """The newest format of refs (reftable) leaves a HEAD that says nothing. This git may be too old to write it, so
        that one stands in for it here that answers as a newer one would."""
        repo.commit(rules="x")
        repo.write(".git/HEAD", "ref: refs/heads/.invalid\n")
        newer = tmp_path / "newer"
        newer.mkdir()
        (newer / "git").write_text("#!/bin/sh\ntest $1 = symbolic-ref && echo refs/heads/feature/x\n")
        (newer / "git").chmod(0o755)
        found = GitPages(own, {"PATH": f"{newer}:{os.environ['PATH']}"}).find(repo.root)
        assert found.version.branch == "feature/x"

    def test_in_a_hook_gits_own_variables_do_not_mislead(
        self, repo: Any, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commit = repo.commit(rules="x")
        misled = {**os.environ, "GIT_DIR": str(tmp_path), "GIT_INDEX_FILE": "/x", "GIT_WORK_TREE": "/"}
        assert GitPages(own, misled).find(repo.root).version.commit == commit

    def test_the_folder_of_git_itself_belongs_to_its_working_tree(self, repo: Any, pages: GitPages) -> None:
        repo.commit(rules="x")
        assert paths(pages.find(repo.root / ".git/hooks")) == [".memory/rules.md"]


class TestStrangeFiles:
    def test_each_is_a_problem_of_its_own(self, repo: Any, pages: GitPages, tmp_path: Path) -> None:
        (tmp_path / "secret.md").write_text("secret")
        memory = repo.root / ".memory"
        repo.write(".memory/good.md", "good")
        repo.write("docs/real.md", "real")
        (memory / "inside.md").symlink_to("../docs/real.md")
        (memory / "out.md").symlink_to(tmp_path / "secret.md")
        (memory / "up.md").symlink_to("../../secret.md")
        (memory / "git.md").symlink_to("../.git/config")
        (memory / "dangling.md").symlink_to("nowhere.md")
        (memory / "circle.md").symlink_to("circle.md")
        (memory / "folder.md").mkdir()
        os.mkfifo(memory / "fifo.md")
        repo.write(".memory/large.md", b"x" * 1_000_001)
        repo.write(".memory/bytes.md", b"fine\n\xff\xfe")
        (repo.root / "skills").symlink_to(tmp_path)
        (repo.root / ".git/agent-memory").mkdir()
        (repo.root / ".git/agent-memory/out.md").symlink_to(tmp_path / "secret.md")
        found = pages.find(repo.root)
        assert {one.path: one.problem or one.text for one in found.files} == {
            ".memory/bytes.md": "is no UTF-8 text (line 2): save it as UTF-8",
            ".memory/circle.md": "is a link that leads in a circle",
            ".memory/dangling.md": "is a link that leads nowhere",
            ".memory/fifo.md": "is no file",
            ".memory/folder.md": "is no file",
            ".memory/git.md": "is a link that leads out of the repository, and is not followed",
            ".memory/good.md": "good",
            ".git/agent-memory/out.md": "is a link that leads out of the repository, and is not followed",
            ".memory/inside.md": "real",
            ".memory/large.md": "has more than 1,000,000 bytes, and is not read: part it",
            ".memory/out.md": "is a link that leads out of the repository, and is not followed",
            ".memory/up.md": "is a link that leads out of the repository, and is not followed",
            "skills": "is a link that leads out of the repository, and is not followed",
        }
        assert not [one for one in found.files if "secret" in (one.text or "")]
        (memory / "fifo.md").unlink()
        (memory / "git.md").unlink()
        (memory / "folder.md").rmdir()
        repo.commit()
        committed = pages.find(repo.root, "HEAD")
        assert {one.path: one.problem or one.text for one in committed.files} == {
            one.path: one.problem or one.text
            for one in found.files
            if one.path not in (".memory/fifo.md", ".memory/folder.md", ".memory/git.md")
        }
        assert not pages.find(repo.root).version.dirty

    def test_the_users_own_links_may_lead_anywhere(self, pages: GitPages, own: Path, tmp_path: Path) -> None:
        own.mkdir()
        (tmp_path / "dotfiles.md").write_text("mine")
        (own / "rules.md").symlink_to(tmp_path / "dotfiles.md")
        assert [one.text for one in pages.find(tmp_path).files] == ["mine"]

    def test_a_fifo_in_the_users_own_folder_does_not_hang(self, pages: GitPages, own: Path, tmp_path: Path) -> None:
        own.mkdir()
        os.mkfifo(own / "procedural.md")
        found = pages.find(tmp_path)
        assert [one.problem for one in found.files] == ["is no file"]
        assert pages.still(found) is not None

    def test_what_may_not_be_read(self, repo: Any) -> None:
        repo.write(".memory/good.md", "good")
        repo.write(".memory/shut.md", "x").chmod(0)
        repo.write("deep/.memory/x.md", "x").parent.chmod(0)
        ran = subprocess.run(
            [sys.executable, "-c", AS_ANYBODY, sys.executable, "-c", READ, repo.root / "deep"],
            capture_output=True,
            text=True,
        )
        assert ran.stdout.splitlines() == [
            ".memory/good.md good",
            ".memory/shut.md cannot be read: Permission denied",
            "deep/.memory cannot be read: Permission denied",
        ], ran.stderr

    def test_a_folder_of_pages_that_leads_in_a_circle(self, repo: Any, pages: GitPages) -> None:
        (repo.root / ".memory").symlink_to(".memory")
        repo.write("AGENTS.md", "good")
        for at in (None, "HEAD"):
            repo.commit()
            found = pages.find(repo.root, at)
            assert page(found, "AGENTS.md").text == "good"
            assert page(found, ".memory").problem == "is a link that leads in a circle"

    def test_two_names_of_one_page_are_one_page(self, repo: Any, pages: GitPages) -> None:
        repo.write("AGENTS.md", "x")
        (repo.root / "CLAUDE.md").symlink_to("AGENTS.md")
        repo.write("skills/deploy/SKILL.md", "y")
        (repo.root / ".claude").mkdir()
        (repo.root / ".claude/skills").symlink_to("../skills")
        repo.commit()
        for at in (None, "HEAD"):
            assert paths(pages.find(repo.root, at)) == ["AGENTS.md", "skills/deploy/SKILL.md"]

    def test_names_with_blanks_newlines_and_bytes(self, repo: Any, pages: GitPages) -> None:
        folder = os.fsencode(repo.root) + b"/a b/\xff*\n/.memory"
        os.makedirs(folder)
        for name in (b"with blank.md", b"new\nline.md", b"\xff.md", "käse.md".encode()):
            with open(folder + b"/" + name, "wb") as file:
                file.write(b"x")
        commit = repo.commit()
        inner = Path(os.fsdecode(folder)).parent
        for at in (None, "HEAD"):
            found = pages.find(inner, at)
            assert sorted(paths(found)) == [
                r"a b/\xff*\n/.memory/" + name for name in (r"\xff.md", "käse.md", r"new\nline.md", "with blank.md")
            ]
            assert {(one.text, one.commit, one.dirty) for one in found.files} == {("x", commit, False)}
        assert [one.commit for one in pages.log(inner)] == [commit]

    def test_names_that_mean_something_to_git(self, repo: Any, pages: GitPages) -> None:
        repo.write(":(exclude)x/.memory/rules.md", "x")
        repo.write("--all/AGENTS.md", "x")
        commit = repo.commit()
        for folder in (":(exclude)x", "--all"):
            assert [one.commit for one in pages.log(repo.root / folder)] == [commit]

    def test_a_repository_and_a_branch_whose_names_are_no_text(self, repo: Any, pages: GitPages, own: Path) -> None:
        root = Path(os.fsdecode(os.fsencode(repo.root) + b"-\xff\n"))
        repo.root.rename(root)
        repo.root = root
        repo.git("checkout", "--quiet", "-b", os.fsdecode(b"side-\xff"))
        commit = repo.commit(rules="x")
        found = pages.find(root)
        assert found.version.branch == r"side-\xff" and found.version.commit == commit
        repo.write(".git/agent-memory/x.md", "x")
        assert [one.text for one in pages.find(root).files] == ["x", "x"]
        assert page(pages.find(root, "HEAD")).commit == commit

    def test_a_byte_order_mark_is_no_text(self, repo: Any, pages: GitPages) -> None:
        repo.write(".memory/rules.md", b"\xef\xbb\xbf# Rules")
        assert page(pages.find(repo.root)).text == "# Rules"


class TestLog:
    def test_commits_that_touched_pages_with_both_states(self, repo: Any, pages: GitPages) -> None:
        first = repo.commit("feat: begin", rules="one")
        repo.write("src/x.py", "x")
        repo.commit("feat: code")
        last = repo.commit("fix: rules\n\nAt length.", rules="two")
        found = list(pages.log(repo.root))
        assert [(one.commit, one.subject, one.author) for one in found] == [
            (last, "fix: rules", "Ada"),
            (first, "feat: begin", "Ada"),
        ]
        assert [[page.text for page in one.before] for one in found] == [["one"], []]
        assert [[page.text for page in one.after] for one in found] == [["two"], ["one"]]

    def test_what_is_cut_off_is_said(self, repo: Any, pages: GitPages, tmp_path: Path) -> None:
        for text in ("one", "two", "three"):
            repo.commit(rules=text)
        repo.git("clone", "--quiet", "--depth=2", f"file://{repo.root}", tmp_path / "shallow")
        assert [one.cut for one in pages.log(tmp_path / "shallow")] == [False, True]

    def test_nothing_to_tell(self, repo: Any, pages: GitPages) -> None:
        assert list(pages.log(repo.root)) == []

    def test_a_reader_who_has_enough_leaves_no_process(self, repo: Any, pages: GitPages) -> None:
        for text in ("one", "two", "three"):
            repo.commit(rules=text)
        before = threading.active_count()
        told = pages.log(repo.root)
        next(told)
        told.close()
        time.sleep(0.1)
        assert threading.active_count() <= before
