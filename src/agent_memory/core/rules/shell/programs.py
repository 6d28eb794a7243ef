"""How well-known programs take their options: which have a value, which are two spellings of one.

A small table, from the programs' own help. For a program that is not in it an option may or may not take the next
word, and both readings count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Options:
    """`valued`: options that take a value. `same`: short spellings of long ones. `closed`: no others take a value;
    otherwise `flags` are those that surely take none."""

    valued: frozenset[str] = frozenset()
    same: Mapping[str, str] = field(default_factory=dict)
    closed: bool = False
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Grammar:
    """`front` holds before the subcommand, `subs` behind one of these, `every` behind any other. `dashed`: long options
    have one dash. `shortens`: long options may be shortened. `goals`: each word is one of several things to be done, in
    whatever order, and NAME=value is none of them."""

    every: Options = Options()
    front: Options | None = None
    subs: Mapping[str, Options] = field(default_factory=dict)
    dashed: bool = False
    shortens: bool = True
    goals: bool = False


def _options(same: str = "", valued: str = "", closed: bool = True) -> Options:
    pairs = dict(one.split("/") for one in same.split())
    return Options(frozenset(valued.split()) | {pairs[one] for one in valued.split() if one in pairs}, pairs, closed)


GIT_FRONT = frozenset("-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source".split())
_GIT_FLAGS = frozenset(
    "-p --paginate -P --no-pager --bare --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice"
    " --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --exec-path --html-path --man-path"
    " --info-path --version --help -v -h".split()
)

_GIT = {
    "push": _options(
        "-v/--verbose -q/--quiet -d/--delete -n/--dry-run -f/--force -u/--set-upstream -o/--push-option",
        "-o --repo --receive-pack --exec --recurse-submodules",
    ),
    "commit": _options(
        "-q/--quiet -v/--verbose -F/--file -m/--message -c/--reedit-message -C/--reuse-message -s/--signoff"
        " -t/--template -e/--edit -S/--gpg-sign -a/--all -i/--include -p/--patch -o/--only -n/--no-verify -z/--null"
        " -u/--untracked-files",
        "-F -m -c -C -t --author --date --fixup --squash --cleanup --trailer --pathspec-from-file",
    ),
    "merge": _options(
        "-e/--edit -s/--strategy -X/--strategy-option -m/--message -F/--file -v/--verbose -q/--quiet -S/--gpg-sign"
        " -n/--no-stat",
        "-s -X -m -F --cleanup --into-name",
    ),
    "pull": _options(
        "-v/--verbose -q/--quiet -r/--rebase -s/--strategy -X/--strategy-option -S/--gpg-sign -a/--append -f/--force"
        " -t/--tags -p/--prune -j/--jobs -k/--keep -o/--server-option -n/--no-stat",
        "-s -X -o --cleanup --upload-pack --depth --deepen --shallow-since --shallow-exclude --refmap"
        " --negotiation-tip",
    ),
    "rebase": _options(
        "-q/--quiet -v/--verbose -n/--no-stat -f/--force-rebase -m/--merge -i/--interactive -S/--gpg-sign -x/--exec"
        " -r/--rebase-merges -s/--strategy -X/--strategy-option",
        "-C -x -s -X --onto --whitespace --empty",
    ),
    "reset": _options("-q/--quiet -p/--patch -N/--intent-to-add", "--pathspec-from-file"),
    "checkout": _options(
        "-q/--quiet -m/--merge -d/--detach -t/--track -f/--force -p/--patch -2/--ours -3/--theirs",
        "-b -B --orphan --conflict --pathspec-from-file",
    ),
    "switch": _options(
        "-c/--create -C/--force-create -q/--quiet -m/--merge -d/--detach -t/--track -f/--force",
        "-c -C --orphan --conflict",
    ),
    "restore": _options(
        "-s/--source -S/--staged -W/--worktree -q/--quiet -m/--merge -p/--patch", "-s --conflict --pathspec-from-file"
    ),
    "branch": _options(
        "-v/--verbose -q/--quiet -t/--track -u/--set-upstream-to -r/--remotes -a/--all -d/--delete -m/--move -c/--copy"
        " -l/--list -f/--force -i/--ignore-case",
        "-u --contains --no-contains --merged --no-merged --points-at --sort --format",
        closed=False,
    ),
    "clean": _options("-q/--quiet -n/--dry-run -f/--force -i/--interactive -e/--exclude", "-e"),
    "tag": _options(
        "-l/--list -d/--delete -v/--verify -a/--annotate -m/--message -F/--file -e/--edit -s/--sign -u/--local-user"
        " -f/--force -i/--ignore-case",
        "-m -F -u --cleanup --contains --no-contains --merged --no-merged --sort --points-at --format --trailer",
        closed=False,
    ),
    "add": _options(
        "-n/--dry-run -v/--verbose -i/--interactive -p/--patch -e/--edit -f/--force -u/--update -N/--intent-to-add"
        " -A/--all",
        "--chmod --pathspec-from-file",
    ),
    "rm": _options("-n/--dry-run -q/--quiet -f/--force", "--pathspec-from-file"),
    "fetch": _options(
        "-v/--verbose -q/--quiet -a/--append -f/--force -m/--multiple -t/--tags -j/--jobs -p/--prune -P/--prune-tags"
        " -k/--keep -u/--update-head-ok -o/--server-option",
        "-j -o --upload-pack --depth --deepen --shallow-since --shallow-exclude --refmap --negotiation-tip --filter",
    ),
    "cherry-pick": _options(
        "-n/--no-commit -e/--edit -s/--signoff -m/--mainline -X/--strategy-option -S/--gpg-sign",
        "-m -X --strategy --cleanup --empty",
    ),
    "revert": _options(
        "-n/--no-commit -e/--edit -s/--signoff -m/--mainline -X/--strategy-option -S/--gpg-sign",
        "-m -X --strategy --cleanup",
    ),
}

_KUBECTL = _options(
    "-n/--namespace -s/--server -f/--filename -l/--selector -o/--output -A/--all-namespaces -k/--kustomize"
    " -R/--recursive",
    "-n -s -f -l -o -k --context --cluster --user --kubeconfig --as --as-group --token --request-timeout"
    " --client-certificate --client-key --certificate-authority --tls-server-name --cache-dir --field-selector",
    closed=False,
)
_DOCKER = _options(
    "-H/--host -D/--debug -l/--log-level -c/--context", "-H -l -c --config --tlscacert --tlscert --tlskey", closed=True
)
_SYSTEMCTL = _options(
    "-t/--type -p/--property -a/--all -q/--quiet -f/--force -H/--host -M/--machine -n/--lines -o/--output -s/--signal",
    "-t -p -H -M -n -o -s -P --state --job-mode --kill-whom --what --root --image --preset-mode --message",
)
_HELM = _options(
    "-n/--namespace -f/--values",
    "-n -f --kube-context --kubeconfig --kube-apiserver --kube-token --set --set-string --version --registry-config",
    closed=False,
)
_AWS = _options("", "--profile --region --output --endpoint-url --query --color --ca-bundle", closed=False)
_GH = _options("-R/--repo", "-R", closed=False)
_FILES = _options("-r/--recursive -R/--recursive -f/--force -i/--interactive -v/--verbose -d/--dir")

PROGRAMS: dict[str, Grammar] = {
    "git": Grammar(Options(), Options(GIT_FRONT, {}, flags=_GIT_FLAGS), _GIT),
    "kubectl": Grammar(_KUBECTL, _KUBECTL, shortens=False),
    "oc": Grammar(_KUBECTL, _KUBECTL, shortens=False),
    "helm": Grammar(_HELM, _HELM, shortens=False),
    "docker": Grammar(Options(), _DOCKER, shortens=False),
    "podman": Grammar(Options(), _options("-c/--connection", "-c --url --identity --root --log-level"), shortens=False),
    "systemctl": Grammar(_SYSTEMCTL),
    "terraform": Grammar(_options("", "-chdir", closed=False), dashed=True, shortens=False),
    "tofu": Grammar(_options("", "-chdir", closed=False), dashed=True, shortens=False),
    "aws": Grammar(_AWS),
    "gh": Grammar(_GH, shortens=False),
    "rm": Grammar(_FILES),
    "cp": Grammar(Options(same={"-R": "--recursive", "-r": "--recursive", "-f": "--force"})),
    "chmod": Grammar(_options("-R/--recursive -f/--silent -v/--verbose", "--reference")),
    "chown": Grammar(_options("-R/--recursive -f/--silent -v/--verbose", "--reference --from")),
    "find": Grammar(Options(), dashed=True, shortens=False),
    "java": Grammar(dashed=True, shortens=False),
    "go": Grammar(dashed=True, shortens=False),
    "openssl": Grammar(dashed=True, shortens=False),
    "npm": Grammar(
        Options(), _options("-C/--prefix -w/--workspace", "-C -w --prefix --registry --userconfig", closed=False)
    ),
}
PROGRAMS |= {name: Grammar(shortens=False, goals=True) for name in "mvn mvnw gradle gradlew ant rake just task".split()}
_MAKE = _options("-C/--directory -f/--file -j/--jobs -n/--dry-run", "-C -f -I -o -W", closed=True)
PROGRAMS |= {name: Grammar(_MAKE, goals=True) for name in ("make", "gmake")}
ANY_PROGRAM = Grammar()
