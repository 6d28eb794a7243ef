"""`memory.rules`: the procedures of a folder, written in Markdown. P1 to P5."""

from __future__ import annotations

from agent_memory.app import pagefiles, trust
from agent_memory.app.namespaces.prompts import Prompts
from agent_memory.app.namespaces.proposals import Proposals
from agent_memory.app.namespaces.trusting import Trusting
from agent_memory.app.operations import Permission, ToolSlot, operation
from agent_memory.app.procedures import called, understood
from agent_memory.models.limits import Few
from agent_memory.models.model import Model
from agent_memory.models.rules import Action, Finding, Layer, Rulebook, RuleChange, RuleRevision, Verdict
from agent_memory.ports.pages import MEMORY


class Linted(Model):
    """What is wrong with pages. `ok`: no error is among it; warnings may be. `fixed`: pages that were repaired."""

    ok: bool
    pages: list[str]
    findings: list[Finding]
    fixed: list[str]


class Begun(Model):
    """The pages that were written, and those that were there already and stayed as they are."""

    folder: str
    written: list[str]
    kept: list[str]
    newly_trusted: bool = False
    """Whoever begins the pages of a repository trusts it, unless somebody else's are there already."""


class Rules(Proposals, Prompts, Trusting):
    """Procedures in your own files: pages of Markdown with rules that are checked, skills and examples."""

    @operation("rules.read", "GET /rules", mcp=[ToolSlot("core", "rules", "read")], here=True)
    def read(self, folder: str | None = None, at: str | None = None) -> Rulebook:
        """The rules, skills and examples that hold in a folder, each with its file, line and commit.

        They come from its repository, from the clone and from your own pages; of rules with one id the nearest holds.
        `at` is a commit, a tag or a branch: the repository's pages are read as they were there, and nothing on the disk
        is touched.
        """
        return self._book(folder, at, "at")

    @operation("rules.at", "GET /rules/at", here=True)
    def at(self, ref: str, folder: str | None = None) -> Rulebook:
        """The rules that held at a commit, a tag or a branch: `memory.rules.at("v0.2")`."""
        return self._book(folder, ref, "ref")

    @operation("rules.log", "GET /rules/log", here=True)
    def log(self, folder: str | None = None, limit: Few = 20) -> list[RuleRevision]:
        """The commits that changed the rules of a folder, the newest first, and which rules."""
        return self._procedures().log(self._client.workplace.folder(folder), limit)

    @operation("rules.diff", "GET /rules/diff", here=True)
    def diff(self, a: str, b: str | None = None, folder: str | None = None) -> list[RuleChange]:
        """The rules that were added, removed or changed from one commit, tag or branch to another, or to the disk."""
        return self._procedures().diff(self._client.workplace.folder(folder), a, b)

    @operation("rules.check", "POST /rules/check", mcp=[ToolSlot("core", "rules", "check")], here=True)
    def check(self, action: Action, folder: str | None = None, at: str | None = None) -> Verdict:
        """Say whether an action is allowed by the rules of a folder, before it is done.

        An action is a command, a commit message, a path, a tool call or a text. The verdict cites each rule that it
        breaks, what is wrong, and what to do instead. `at` asks the rules of a commit, tag or branch.
        """
        from agent_memory.app import checking

        workplace = self._client.workplace
        where = workplace.folder(folder)
        if action.path is not None:
            workplace.path(action.path, where)  # of somebody else's disk, a server says nothing
        return checking.verdict(action, where, at, workplace.own)

    @operation("rules.lint", "GET /rules/findings", here=True)
    def lint(self, paths: list[str] | None = None, folder: str | None = None) -> Linted:
        """Check pages of procedures, and say with line and column what is wrong with them.

        `paths` are files or folders, seen from `folder`; by default it is what is found there.
        """
        return self._linted(paths, folder, [])

    @operation("rules.fix", "POST /rules/fix", permission=Permission.OPERATOR, here=True)
    def fix(self, paths: list[str] | None = None, folder: str | None = None) -> Linted:
        """Repair what is safe to repair in pages of procedures, and check them again.

        Missing ids are written, and severities and keys spelled as they should be. Every other byte stays.
        """
        from agent_memory.core.rules.fix import fixed

        done = []
        for page in pagefiles.given(self._client.workplace, self._client.workplace.folder(folder), paths):
            if page.found.text is None:
                continue
            new = fixed(page.found.path, page.data.decode("utf-8")).encode("utf-8")
            if new != page.data and pagefiles.replace(page.file, page.data, new):
                done.append(page.found.path)
        return self._linted(paths, folder, done)

    @operation("rules.init", "POST /rules", permission=Permission.OPERATOR, here=True)
    def init(self, folder: str | None = None) -> Begun:
        """Begin the procedures of a folder: `.memory/procedural.md` and `.memory/working.md`.

        What is there already stays as it is. A repository without pages is trusted by this.
        """
        from agent_memory.core.rules.template import PAGES

        workplace = self._client.workplace
        root = workplace.folder(folder)
        strange = any(page.layer != Layer.USER for page in self._procedures().pages(root))
        memory = workplace.path(MEMORY, root, "folder")
        written: list[str] = []
        kept: list[str] = []
        for name, text in PAGES.items():
            new = pagefiles.create(memory / name, text.encode("utf-8"))
            (written if new else kept).append(f"{MEMORY}/{name}")
        begun = not strange and workplace.root is None and trust.begin(trust.TrustTarget(root))
        return Begun(folder=str(root), written=written, kept=kept, newly_trusted=begun)

    def _book(self, folder: str | None, at: str | None, field: str) -> Rulebook:
        place = self._client.workplace.folder(folder)
        with called(field):
            kept = trust.book(place, at, self._client.workplace.own)
        here = trust.TrustTarget(place)
        told = {"repository": here.name, "is_trusted": here.trusted}
        lists = {name: list(getattr(kept, name)) for name in ("rules", "entries", "pages", "findings", "quoted")}
        return kept.model_copy(update={**lists, **told})  # the caller's own to change

    def _linted(self, paths: list[str] | None, folder: str | None, done: list[str]) -> Linted:
        from agent_memory.core.rules.lint import lint

        workplace = self._client.workplace
        pages = [understood(page.found) for page in pagefiles.given(workplace, workplace.folder(folder), paths)]
        findings = lint(pages)
        ok = all(one.level != "error" for one in findings)
        return Linted(ok=ok, pages=[page.path for page in pages], findings=findings, fixed=done)
