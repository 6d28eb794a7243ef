"""Files that people and the memory share: what somebody prefers, in USER_PREFS.md, and notes of a trusted repository.
Nothing watches them: they are looked at by `sync`, by a job, and when preferences are read.

What a file and the memory last agreed on is kept in the home folder of whoever has the file, as digests.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import secrets
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent_memory.app import config, pagefiles
from agent_memory.app.following import MOST, fields, for_user
from agent_memory.app.trust import TrustTarget
from agent_memory.core.files.merge import FileMerge, digest, merge
from agent_memory.core.files.pages import NotesPage, PreferencesPage, fits, spelled
from agent_memory.core.govern.redact import same_but_for_secrets
from agent_memory.core.govern.redaction import redactor
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput
from agent_memory.models.files import FileConflict, SyncedFile, SyncedFiles
from agent_memory.models.files import Side as FileSide
from agent_memory.models.kinds.kind import fold
from agent_memory.models.kinds.log import NOTE, WORKING_NOTE
from agent_memory.models.kinds.person import Preference, preference_key
from agent_memory.ports.pages import MEMORY, NOTES, PREFERENCES
from agent_memory.ports.spans import Side

if TYPE_CHECKING:
    from agent_memory.app.client import Client
    from agent_memory.models.record import Record

AGREED = "agreed"  # the folder of what was agreed on, in the home folder
HAND_WRITTEN = "notes"  # the folder of notes, in `.memory`
REASON = "the file says so"
MOST_NOTES = 1000
FRESH_SECONDS, SETTLE_SECONDS = 2.0, 0.1  # a file that was just written is looked at twice
MEANWHILE = "it is being written: sync again"


class UserFile(NamedTuple):
    """`kind` is that of its entries, `path` what people call it. `within` is the folder that a link must not lead out
    of."""

    file: Path
    within: Path
    kind: str
    path: str
    repository: str | None = None


class _Opened(NamedTuple):
    """A file as it was read, what was agreed on before, the records that say the same, and how the two differ."""

    place: UserFile
    read: pagefiles.FoundFile
    agreed: dict[str, str]
    secret: bytes
    page: PreferencesPage | NotesPage
    records: dict[str, Record]
    merge: FileMerge


class _Unsure(Exception):
    """Why a file is left as it is for now."""


def sync(client: Client, folder: Path, prefer: FileSide | None = None, *, dry_run: bool = False) -> SyncedFiles:
    """Bring the files that hold in a folder and the memory together. One that cannot be read or written stops no
    other."""
    writer = for_user(client)
    if not _here(client):
        return SyncedFiles(files=[])
    here = TrustTarget(folder)
    shared = list(_shared(here))
    places = [*_own(client), *(shared if here.trusted else ())]
    files = [_synced(writer, place, prefer, dry_run) for place in places]
    untrusted = here.name if shared and not here.trusted else None
    return SyncedFiles(files=files, dry_run=dry_run, untrusted=untrusted)


def left(client: Client, folder: Path) -> int:
    """How many entries `sync` would change."""
    found = sync(client, folder, dry_run=True).files
    return sum(len(one.remembered) + len(one.ended) + len(one.written) + len(one.removed) for one in found)


def lived(client: Client, stored: list[Preference]) -> list[Preference]:
    """Preferences as they are once USER_PREFS.md is synced: reading it stores nothing. What cannot be read is passed
    over; `sync` tells why."""
    for place in _own(client):
        text = pagefiles.read(place.file, place.within, place.within).found.text or ""
        if not text.strip():
            continue
        page = PreferencesPage(text)
        known = {preference_key(one.domain, one.name): one for one in stored if one.repository is None and fits(one)}
        values = {key: spelled(one.value) for key, one in known.items()}
        news = merge(page.entries, values, *_agreed(_agreed_file(client, place))).memory
        overridden = {preference_key(one.domain, one.name) for one in stored if one.repository is not None}
        kept = [one for one in stored if one.repository is not None or preference_key(one.domain, one.name) not in news]
        new = [page.preferences[key] for key, value in news.items() if value is not None and key not in overridden]
        stored = sorted([*kept, *new], key=lambda one: (one.domain.casefold(), one.name.casefold()))
    return stored


def _here(client: Client) -> bool:
    """Whether the files are the caller's: somebody at their own machine, or the one that a server is set up for. What
    others remember never gets into them, nor what they say into the memory of others."""
    settings, scope = client.settings, client.scope
    mine = (scope.tenant, scope.user) == (settings.tenant, settings.user)
    return mine or (client.workplace.own and client.workplace.root is None)


def _own(client: Client) -> Iterator[UserFile]:
    """The file of whoever this machine is set up for, in a process of their own; others have none here, even where a
    program or a command names them. People keep such files elsewhere, and link to them."""
    settings, scope = client.settings, client.scope
    if client.workplace.own and settings.procedures and (scope.tenant, scope.user) == config.set_up_for():
        file = config.config_folder() / PREFERENCES
        real = Path(os.path.realpath(file))
        yield UserFile(real, real.parent, "preference", str(file))


def _shared(here: TrustTarget) -> Iterator[UserFile]:
    """The files of a repository that are there. One that is gone ends nothing: another branch may have it."""
    root = Path(here.root)
    memory = root / MEMORY
    notes = sorted((memory / HAND_WRITTEN).glob("*.md"))[:MOST_NOTES]
    kinds = [(memory / PREFERENCES, "preference"), (memory / NOTES, WORKING_NOTE), *((file, NOTE) for file in notes)]
    for file, kind in kinds:
        if file.is_file():
            yield UserFile(file, root, kind, file.relative_to(root).as_posix(), here.name)


def _synced(writer: Client, place: UserFile, prefer: FileSide | None, dry_run: bool) -> SyncedFile:
    told = SyncedFile(path=place.path, repository=place.repository)
    try:
        opened = _opened(writer, place, prefer)
        _tell(told, opened)
        if dry_run:
            return told
        _remember(writer, opened)
    except _Unsure as why:
        return SyncedFile(path=place.path, repository=place.repository, problem=str(why))
    if opened.merge.file:
        try:
            _write(opened)
        except (_Unsure, InvalidInput) as why:
            told.written, told.removed, told.problem = [], [], str(why)
    _agree(_agreed_file(writer, place), opened, written=told.problem is None)
    return told


def _opened(writer: Client, place: UserFile, prefer: FileSide | None) -> _Opened:
    read = _settled(place)
    text = read.found.text or ""
    agreed, secret = _agreed(_agreed_file(writer, place))
    if place.kind == "preference":
        page: PreferencesPage | NotesPage = PreferencesPage(text)
        where, agreed = {}, agreed if read.data else {}  # one that is gone was lost: nobody has deleted its lines
    else:
        from agent_memory.core.rules.template import WORKING

        page = NotesPage("" if text == WORKING else text)
        where = {"repository": place.repository, "path": place.path}
    records = _records(writer, place, where)
    if isinstance(page, NotesPage):
        page.rename(_kept_names(writer, place, page, records))
    values = {key: _value(one) for key, one in records.items()}
    if not values and prefer == "file":
        agreed = {}  # a memory that has lost everything: all of the file is new to it
    elif not values and prefer is None and any(digest(secret, key) in agreed for key in page.entries):
        raise _Unsure(
            "the memory has none of the entries that were synced before: is it the right one? `--prefer memory` "
            "removes them from the file, `--prefer file` stores them again"
        )
    entries = {key: _as_kept(said, values.get(key)) for key, said in page.entries.items()}
    found = merge(entries, values, agreed, secret, prefer)
    if isinstance(page, NotesPage) and prefer is None:
        found = _spared(found, agreed, secret)
    return _Opened(place, read, agreed, secret, page, records, found)


def _kept_names(writer: Client, place: UserFile, page: NotesPage, records: dict[str, Record]) -> dict[str, str]:
    """How the memory calls sections that have a secret in their heading. It finds them by their original names."""
    keys, found = {one.id: key for key, one in records.items()}, dict[str, str]()
    for key, title in page.titles.items():
        spans = [] if key in records else redactor("off").spans(title)
        if not spans:
            continue
        places = [0, *(end for one in spans for end in one[:2]), len(title)]
        parts = [title[begin:end] for begin, end in itertools.pairwise(places)]
        around = fold("\0".join(parts[::2])).split("\0")
        section = "".join(itertools.chain(*itertools.zip_longest(around, parts[1::2], fillvalue="")))
        named = f"{fold(place.path)}\x1f{section}\x1f{place.repository}"
        known = writer.ask("records.lookup", kind=place.kind, key=named)
        if known is not None and known.id in keys:
            found[key] = keys[known.id]
    return found


def _as_kept(said: str, kept: str | None) -> str:
    """An entry as the memory has it, where that differs in secrets alone: a file may hold them, a memory does not."""
    return kept if kept is not None and same_but_for_secrets(said, kept) else said


def _spared(found: FileMerge, agreed: dict[str, str], secret: bytes) -> FileMerge:
    """What somebody wrote by hand is not deleted because a note has ended, which another clone or branch may have
    done: that is a conflict."""
    gone = [key for key, value in found.file.items() if value is None]
    still = {place: agreed[place] for place in (digest(secret, key) for key in gone)}
    file = {key: found.file[key] for key in found.file if key not in gone}
    return found._replace(file=file, conflicts=(*found.conflicts, *gone), agreed=found.agreed | still)


def _settled(place: UserFile) -> pagefiles.FoundFile:
    """The file as it is; not while somebody writes it."""
    read = pagefiles.read(place.file, place.within, place.within)
    if not os.path.lexists(place.file):
        return read._replace(data=b"")
    if read.found.text is None:
        raise _Unsure(read.found.problem or "it cannot be read")
    if not read.data:
        raise _Unsure("it is empty; delete it to have it written again")
    if abs(time.time() - read.file.stat().st_mtime) < FRESH_SECONDS:
        time.sleep(SETTLE_SECONDS)
        if pagefiles.read(place.file, place.within, place.within).data != read.data:
            raise _Unsure(MEANWHILE)
    return read


def _records(writer: Client, place: UserFile, where: dict[str, Any]) -> dict[str, Record]:
    """By the keys that they have in the file. Of a server's tenants, its key has decided."""
    found = writer.ask("records.find", kind=place.kind, fields=where, limit=MOST)
    if len(found) == MOST:
        raise _Unsure(f"the memory has more than {MOST} of this kind, which is too many to sync")
    whose = writer.scope.user, writer.scope.agent
    own = [one for one in found if (one.scope.user, one.scope.agent) == whose]
    return {key: one for one in own if (key := _key(one, place)) is not None}


def _key(record: Record, place: UserFile) -> str | None:
    """By which key of the page this record goes; None: it has no place there."""
    said = record.payload
    if said.get("repository") != place.repository:
        return None
    if place.kind != "preference":
        return fold(said["section"])
    return preference_key(said["domain"], said["name"]) if fits(_plain(said)) else None


def _plain(payload: dict[str, Any]) -> Preference:
    """As a line says it: the repository is that of its file."""
    return Preference(**{**payload, "repository": None})


def _value(record: Record) -> str:
    return spelled(record.payload["value"]) if record.kind == "preference" else record.text


def _tell(told: SyncedFile, opened: _Opened) -> None:
    changes, page = opened.merge, opened.page
    values = {key: _value(one) for key, one in opened.records.items()}
    name = _naming(opened)
    told.remembered = [name(key) for key, value in changes.memory.items() if value is not None]
    told.ended = [name(key) for key, value in changes.memory.items() if value is None]
    told.written = [name(key) for key, value in changes.file.items() if value is not None]
    told.removed = [name(key) for key, value in changes.file.items() if value is None]
    told.conflicts = [
        FileConflict(entry=name(key), file=_shown(name(key), page.entries.get(key)), memory=values.get(key))
        for key in changes.conflicts
    ]
    told.not_understood = [str(one) for one in page.strange]


def _shown(name: str, said: str | None) -> str | None:
    """What a file says, without secrets: it may be shown to a model, or end in a log."""
    shown: str | None = redactor("off").value({"name": name, "value": said})["value"]
    return shown


def _without_secrets(title: str, key: str) -> str:
    """The key, or what is left of a heading that has a secret: where case counts, a key no longer shows what it is."""
    left = redactor("off").text(title)
    return key if left == title else fold(left)


def _naming(opened: _Opened) -> Callable[[str], str]:
    """What an entry is called for people."""
    page, records = opened.page, opened.records

    def name(key: str) -> str:
        if isinstance(page, NotesPage):
            return _without_secrets(page.titles.get(key, key), key) or "(before the first heading)"
        found = page.preferences.get(key) or Preference(**records[key].payload)
        return f"{found.domain}: {found.name}"

    return name


def _remember(writer: Client, opened: _Opened) -> None:
    """What the file says that is new; not over what was written meanwhile."""
    changes = opened.merge.memory
    if not changes:
        return
    ids = sorted(one.id for key, one in opened.records.items() if key in changes)
    before = {one.id: one.version for one in opened.records.values()}
    for id in ids:
        if writer.ask("records.get", id=id).version != before[id]:
            raise _Unsure("the memory was changed meanwhile: sync again")
    new = {key: value for key, value in changes.items() if value is not None}
    if new:
        said = [_fields(opened, key, value) for key, value in new.items()]
        writer.ask("records.add_many", records=said, reason=REASON, embed=True)
    now = writer.clock.now() if writer.transport.side is Side.INSIDE else datetime.now(UTC)
    for key in changes.keys() - new.keys():
        record = opened.records[key]
        end = max(now, record.valid_from + timedelta(microseconds=1))
        writer.ask("records.amend", id=record.id, valid_to=end, reason=f"{REASON} no more")


def _fields(opened: _Opened, key: str, value: str) -> dict[str, Any]:
    place, page = opened.place, opened.page
    if isinstance(page, PreferencesPage):
        preference = page.preferences[key].model_copy(update={"repository": place.repository})
        return fields(preference.draft())
    title = page.titles[key]
    section = title if redactor("off").spans(title) else key  # a secret is known by its case
    payload = {"repository": place.repository, "path": place.path, "section": section}
    return fields(Draft(place.kind, value, payload, source="file", repository=place.repository))


def _write(opened: _Opened) -> None:
    """Whole or not at all, and not over what somebody has written since it was read."""
    changes, records, page, read = opened.merge.file, opened.records, opened.page, opened.read
    if isinstance(page, PreferencesPage):
        page = page if read.data else PreferencesPage("# Preferences\n")
        stored = {key: _plain(one.payload) for key, one in records.items()}
        text = page.changed({key: stored.get(key) for key in changes})
    else:
        text = page.changed({key: _under(page.entries.get(key), value) for key, value in changes.items()})
    if not read.data:
        done = pagefiles.create(opened.place.file, text.encode(), 0o600)
    else:
        mark = BOM_UTF8 if read.data.startswith(BOM_UTF8) else b""
        done = pagefiles.replace(read.file, read.data, mark + text.encode())
    if not done:
        raise _Unsure(MEANWHILE)


def _under(said: str | None, value: str | None) -> str | None:
    """A section under the heading that the file has, where the two differ in secrets alone."""
    if said is None or value is None:
        return value
    heading, rest = said.partition("\n")[0], value.partition("\n")
    return heading + "".join(rest[1:]) if same_but_for_secrets(heading, rest[0]) else value


def _agreed_file(client: Client, place: UserFile) -> Path:
    """One for each file and each memory that it goes with; at a server, the key has decided which that is."""
    scope, settings = client.scope, client.settings
    key = settings.api_key.get_secret_value() if settings.api_key else None
    whose = json.dumps([settings.store_url, key, scope.tenant, scope.user, str(place.file)])
    home = settings.home.expanduser()
    return home / AGREED / f"{hashlib.sha256(whose.encode()).hexdigest()[:32]}.json"


def _agreed(file: Path) -> tuple[dict[str, str], bytes]:
    """What is lost or damaged was never agreed on: then both sides are asked about what differs."""
    try:
        said = json.loads(file.read_bytes())
        return {str(key): str(value) for key, value in said["agreed"].items()}, bytes.fromhex(said["secret"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}, secrets.token_bytes(32)


def _agree(file: Path, opened: _Opened, *, written: bool) -> None:
    """What the file did not get, was not agreed on: that stays as it was."""
    agreed = opened.merge.agreed
    if not written:
        places = {digest(opened.secret, key) for key in opened.merge.file}
        before = {place: value for place, value in opened.agreed.items() if place in places}
        agreed = {place: value for place, value in agreed.items() if place not in places} | before
    data = json.dumps({"secret": opened.secret.hex(), "agreed": agreed}, sort_keys=True).encode()
    if not file.exists() or file.read_bytes() != data:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        pagefiles.put(file, data, 0o600)
