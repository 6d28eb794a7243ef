"""What is said about settings, where, and whether it counts: variables of the environment and of `.env` files.

A folder can be a stranger's: a `.env` that is not the user's own may say how much is shown, never where memories and
keys go or whose they are. A key in the environment is not sent to an address in a file, and a key in a file only to the
address beside it. What does not count is not passed over in silence: it becomes a `Notice`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

PREFIX = "AGENT_MEMORY_"
UNPREFIXED = frozenset(
    "DEFAULT_TOP_K EMBEDDING_DIMENSIONS EMBEDDING_MODEL EMBEDDING_PROVIDER EPISODIC_RETENTION_DAYS "
    "LOCAL_EMBEDDING_MODEL MAX_WORKING_MEMORY_ITEMS OPENAI_API_KEY OPENAI_BASE_URL POSTGRES_URI RERANKING_ENABLED "
    "SALIENCE_DECAY_RATE".split()
)
ENVIRONMENT_ALONE = frozenset([f"{PREFIX}CONFIG", f"{PREFIX}DEBUG"])  # ours, and no settings
HARMLESS = frozenset(["default_top_k", "max_working_memory_items", "reranking_enabled", "timeout"])
"""Settings that may come from anybody's `.env`: they change how much is shown and how long it may take, no more."""

ARGUMENT, ENVIRONMENT = "argument", "environment"  # origins, beside the paths of files
ADDRESSES = (
    ("api_key", ("store",)),
    ("openai_api_key", ("embedding_url", "openai_base_url")),
    ("openai_api_key", ("chat_url", "openai_base_url")),
    ("rerank_api_key", ("rerank_url",)),
)
"""Keys, and the settings that say where each is sent; the first that is set counts."""

MOST_BYTES = 1 << 20  # of a `.env`


class SettingValue(NamedTuple):
    """One setting as somebody said it: by which variable, and where."""

    variable: str
    value: object
    origin: str

    @property
    def in_file(self) -> bool:
        return self.origin not in (ARGUMENT, ENVIRONMENT)


class Notice(NamedTuple):
    """Something that was said and does not count. `aside`: it may be meant for another program, and nothing here asks
    for it, so that only `doctor` tells."""

    message: str
    fix: str
    aside: bool = False


class SettingsHeard(NamedTuple):
    """What counts, by setting, and what does not."""

    said: Mapping[str, SettingValue]
    notices: tuple[Notice, ...]


Place = tuple[str, Mapping[str, str]]
"""An origin, and the variables that it says."""


def heard(
    fields: Collection[str],
    arguments: Mapping[str, object],
    environment: Mapping[str, str],
    files: Sequence[Path],
    own: Callable[[Path], bool],
) -> SettingsHeard:
    """Arguments win over the environment, that over `files` in their order; a name with the prefix over one without.
    An empty variable says nothing, and hides what comes after it. The last of `files` is where the user's own go."""
    meant = _names(fields)
    places: list[Place] = [(ENVIRONMENT, environment)]
    notices: list[Notice] = []
    refused: list[tuple[Path, list[str]]] = []
    for path in files:
        variables, trouble = read_dotenv(path)
        if trouble:
            notices.append(Notice(f"{path} was not read: {trouble}", "correct the file, or remove it"))
        private = [name for name, text in variables.items() if text and name in meant and meant[name] not in HARMLESS]
        if private and not own(path):
            refused.append((path, private))
            variables = {name: text for name, text in variables.items() if name not in private}
        places.append((str(path), variables))
    said = _counting(places, meant)
    said |= {name: SettingValue(PREFIX + name.upper(), value, ARGUMENT) for name, value in arguments.items()}
    remote = _providers(said) != {"local"}
    for path, private in refused:
        notices += _refusals(path, private, files[-1], asked_for=remote)
    withheld = dict(_withheld(said))
    kept = {name: one for name, one in said.items() if name not in withheld}
    return SettingsHeard(kept, (*notices, *withheld.values(), *_misspelt(places, meant)))


def _names(fields: Collection[str]) -> dict[str, str]:
    """The setting that each variable means; those with the prefix come first."""
    names = {PREFIX + one.upper(): one for one in fields}
    return names | {one.upper(): one for one in fields if one.upper() in UNPREFIXED}


def _counting(places: Sequence[Place], meant: Mapping[str, str]) -> dict[str, SettingValue]:
    said: dict[str, SettingValue] = {}
    for name, setting in meant.items():
        origin, variables = next((place for place in places if name in place[1]), ("", {name: ""}))
        if variables[name]:
            said.setdefault(setting, SettingValue(name, variables[name], origin))
    return said


def _providers(said: Mapping[str, SettingValue]) -> set[object]:
    """Of vectors, and of chat models where there are any."""
    chosen = {said[name].value for name in ("embedding_provider", "chat_provider") if name in said}
    return chosen if "embedding_provider" in said else {"local", *chosen}


def _refusals(path: Path, names: list[str], own: Path, *, asked_for: bool) -> Iterator[Notice]:
    """`asked_for`: names that many programs share would have been used here."""
    ours = [name for name in names if name.startswith(PREFIX)]
    shared = [name for name in names if not name.startswith(PREFIX)]
    for some, aside in ((ours, False), (shared, not asked_for)):
        if some:
            yield Notice(
                f"{path}: {', '.join(some)} ignored: this file may be somebody else's, and so it decides neither whose "
                "memories these are nor where they and your keys go",
                f"if you want it, put it into {own} or into the environment, or `agent-memory rules trust` this folder",
                aside,
            )


def _withheld(said: Mapping[str, SettingValue]) -> Iterator[tuple[str, Notice]]:
    """Keys that must not be sent where the settings point."""
    for key, addresses in ADDRESSES:
        address = next((said[name] for name in addresses if name in said), None)
        if key not in said or address is None or not _goes_by_http(address):
            continue
        holder = said[key]
        if holder.origin in (ARGUMENT, address.origin) or not (holder.in_file or address.in_file):
            continue
        yield (
            key,
            Notice(
                f"{holder.variable} ({holder.origin}) is not sent to the address in {address.variable} "
                f"({address.origin}): a key in a file goes to the address in the same file, and one in the environment "
                "to no address in a file",
                "if the key belongs to that address, put both into the same place",
                aside=key == "openai_api_key" and "openai" not in _providers(said),
            ),
        )


def _goes_by_http(address: SettingValue) -> bool:
    return str(address.value).lower().startswith(("http://", "https://"))


def _misspelt(places: Sequence[Place], meant: Mapping[str, str]) -> Iterator[Notice]:
    """Names that are nearly right are easily overlooked."""
    everything = {name for _, variables in places for name in variables}
    for origin, variables in places:
        where = "" if origin == ENVIRONMENT else f" in {origin}"
        for name in sorted(set(variables) - set(meant)):
            if name in ENVIRONMENT_ALONE:
                if where:
                    yield Notice(f"{name}{where} is ignored: it is read from the environment alone", "set it there")
            elif name.startswith(PREFIX):
                near = _nearest(name, tuple(meant))
                fix = f"did you mean {near}?" if near else "docs/reference/settings.md has those there are"
                yield Notice(f"{name}{where} means nothing", fix)
            elif (near := _slipped(name, tuple(meant))) and near not in everything:
                yield Notice(f"{name}{where} means nothing", f"did you mean {near}?")


def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    import difflib

    return next(iter(difflib.get_close_matches(name, known, 1)), None)


@functools.lru_cache(maxsize=1024)
def _slipped(name: str, known: tuple[str, ...]) -> str | None:
    """The name that was meant, if this is one slip away from it: a letter too many, missing, wrong or swapped. Names
    of other programs are many, so nothing farther off is taken for ours."""
    said = name.replace("_", "").upper()
    return next((one for one in known if one != name and _a_slip(said, one.replace("_", ""))), None)


def _a_slip(said: str, meant: str) -> bool:
    if abs(len(said) - len(meant)) > 1:
        return False
    pairs = enumerate(zip(said, meant, strict=False))
    first = next((place for place, (one, other) in pairs if one != other), min(len(said), len(meant)))
    a, b = said[first:], meant[first:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def read_dotenv(path: Path) -> tuple[dict[str, str], str]:
    """KEY=value lines, and why it could not be read; `#` comments, `export ` and surrounding quotes are understood,
    nothing is expanded. What is no plain file is not there: a folder of this name is somebody's virtual environment."""
    try:
        if not path.is_file():
            return {}, ""
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            return {}, f"it is larger than {MOST_BYTES:,} bytes"
        lines = data.decode("utf-8-sig").splitlines()  # some editors begin a file with a mark
    except OSError as error:
        if not os.access(path.parent, os.X_OK):  # what is in this folder is nobody's business, and unknown
            return {}, ""
        return {}, error.strerror or str(error)
    except UnicodeDecodeError:
        return {}, "it is not UTF-8"
    pairs = (line.strip().removeprefix("export ").partition("=") for line in lines if not line.lstrip().startswith("#"))
    return {name.strip(): _unquoted(value.strip()) for name, equals, value in pairs if equals}, ""


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value.split(" #", 1)[0].strip()
