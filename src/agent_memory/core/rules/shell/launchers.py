"""Programs that run the words behind their own options: which of these take a value, and how many words of their own
come first. From their manuals."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Launcher:
    """`valued` and `bare`: letters of short options with and without a value. `long` and `flags`: the long ones.
    `skip`: own words before the command. `assigns`: NAME=value may stand before it. `must`: only behind this word."""

    valued: str = ""
    bare: str = ""
    long: frozenset[str] = field(default_factory=frozenset)
    flags: frozenset[str] = field(default_factory=frozenset)
    skip: int = 0
    assigns: bool = False
    script: bool = False
    """What follows is joined with blanks and given to a shell."""


def _of(valued: str = "", bare: str = "", long: str = "", flags: str = "", **more: int | bool) -> Launcher:
    return Launcher(
        valued,
        bare,
        frozenset(f"--{one}" for one in long.split()),
        frozenset(f"--{one}" for one in flags.split()),
        skip=int(more.get("skip", 0)),
        assigns=bool(more.get("assigns", False)),
        script=bool(more.get("script", False)),
    )


LAUNCHERS: dict[str, Launcher] = {
    "env": _of(
        "uCPa",
        "i0v",
        "unset chdir argv0",
        "ignore-environment null debug block-signal default-signal ignore-signal list-signal-handling",
        assigns=True,
    ),
    "sudo": _of(
        "aCcDghpRrTtUu",
        "ABbEeHiKklnNPSsVv",
        "auth-type close-from login-class chdir group host prompt chroot role command-timeout type other-user user",
        "askpass background bell preserve-env edit set-home login remove-timestamp reset-timestamp list non-interactive"
        " no-update preserve-groups stdin shell validate",
        assigns=True,
    ),
    "doas": _of("uCa", "Lns", assigns=True),
    "run0": _of("ugD", "", "user group chdir nice unit property description slice setenv background"),
    "pkexec": _of("", "", "user", "disable-internal-agent keep-cwd"),
    "nohup": _of(),
    "noglob": _of(),
    "nocorrect": _of(),
    "builtin": _of(),
    "exec": _of("a", "cl"),
    "command": _of("", "p"),
    "nice": _of("n", "0123456789", "adjustment"),
    "ionice": _of("cnpPu", "t", "class classdata pid pgid uid", "ignore"),
    "chrt": _of("TPD", "abdfiormpvR", "sched-runtime sched-period sched-deadline", skip=1),
    "taskset": _of("", "acp", "", "all-tasks cpu-list", skip=1),
    "time": _of("fo", "apvq", "format output", "append verbose portability quiet", assigns=True),
    "coproc": _of(assigns=True),
    "timeout": _of("ks", "fpv", "kill-after signal", "foreground preserve-status verbose", skip=1),
    "gtimeout": _of("ks", "fpv", "kill-after signal", "foreground preserve-status verbose", skip=1),
    "stdbuf": _of("ioe", "", "input output error"),
    "unbuffer": _of("", "p"),
    "setsid": _of("", "cfw", "", "ctty fork wait"),
    "setarch": _of("p", "vRFZLXBI3ST", skip=0),
    "chroot": _of("", "", "groups userspec", "skip-chdir", skip=1),
    "unshare": _of(
        "RwSGl", "imnpuUCTfrc", "root wd setuid setgid map-user map-group propagation", "fork map-root-user"
    ),
    "nsenter": _of("tSGrwWe", "aimnpuUCTFZ", "target setuid setgid", "all mount uts ipc net pid user cgroup"),
    "strace": _of("abeEIoOPpsSuUX", "cCdDfFhiknqrtTvVwxyYzZ"),
    "ltrace": _of("aADeFlnopsuwx", "bcCfhiLrStTVv"),
    "caffeinate": _of("tw", "disum"),
    "busybox": _of(),
    "coreutils": _of("", "", "", "coreutils-prog"),
    "winpty": _of(),
    "wsl": _of("du", "e", "distribution user cd", "exec"),
    "valgrind": _of(),
    "gdb": _of("x", "q", "", "args batch quiet"),
    "torsocks": _of("upP"),
    "torify": _of(),
    "proxychains": _of("f", "q"),
    "proxychains4": _of("f", "q"),
    "fakeroot": _of("lsibu", "", "lib faked save-file load-file"),
    "faketime": _of("", "m", skip=1),
    "dbus-run-session": _of(),
    "xvfb-run": _of("efnps", "al"),
    "systemd-inhibit": _of("", "", "what who why mode"),
    "prlimit": _of("p"),
    "numactl": _of("CNPimp", "l"),
    "cgexec": _of("g"),
    "setpriv": _of(),
    "chronic": _of("", "ev"),
    "ifne": _of("", "n"),
    "sem": _of("j", "", "id jobs", "fg wait", script=True),
    "sg": _of("", "c", skip=1, script=True),
    "bunx": _of("p", "", "package", "bun"),
    "uvx": _of("p", "q", "from with python"),
    "dotenv": _of("efv", "", "file"),
    "flatpak-spawn": _of("", "", "env directory", "host"),
    "toybox": _of(),
    "dumb-init": _of("r", "cv", "rewrite", "single-child verbose"),
    "tini": _of("pe", "svwgl"),
    "gosu": _of(skip=1),
    "su-exec": _of(skip=1),
    "watch": _of(
        "nq", "bcdegptwx", "interval equexit", "beep color differences errexit chgexit no-title exec", script=True
    ),
    "ssh": _of("BbcDEeFIiJLlmOopQRSWw", "46AaCfGgKkMNnqsTtVvXxYy", skip=1, script=True),
    "parallel": _of("aCdEIjLlNnPSsX", "0kmqtvuxX", script=True),
    "hyperfine": _of("wmMrspcnu", "iN", script=True),
    "entr": _of("", "acdnprsxz"),
    "npx": _of("p", "y", "package", "yes no"),
    "flock": _of("wE", "enosuxFv", "timeout conflict-exit-code wait", "exclusive shared nonblock unlock close", skip=1),
}

# Programs with a subcommand that runs the words behind it.
SUBCOMMANDS: dict[tuple[str, str], Launcher] = {
    ("uv", "run"): _of(
        "p", "mqsv", "with extra group python package project directory env-file index", "module script"
    ),
    ("pipx", "run"): _of("", "qv", "spec python pip-args with", "quiet verbose no-cache"),
    ("poetry", "run"): _of(),
    ("pipenv", "run"): _of(),
    ("pdm", "run"): _of("p", "", "project"),
    ("hatch", "run"): _of(),
    ("conda", "run"): _of("np", "v", "name prefix cwd", "no-capture-output live-stream"),
    ("direnv", "exec"): _of(skip=1),
    ("bundle", "exec"): _of("", "", "gemfile", "keep-file-descriptors"),
    ("pnpm", "exec"): _of("", "rc"),
    ("pnpm", "dlx"): _of("", "", "package"),
    ("perf", "stat"): _of("eporIxC", "advBg"),
    ("perf", "record"): _of("eopcF", "agvq"),
    ("pixi", "run"): _of("e", "", "environment manifest-path"),
    ("rye", "run"): _of(),
    ("mamba", "run"): _of("np", "v", "name prefix cwd"),
    ("micromamba", "run"): _of("np", "v", "name prefix cwd"),
    ("mise", "x"): _of("j", ""),
    ("asdf", "exec"): _of(),
    ("dotenv", "run"): _of(),
    ("foreman", "run"): _of("e"),
    ("toolbox", "run"): _of("c", "", "container"),
    ("minikube", "kubectl"): _of(),
    ("microk8s", "kubectl"): _of(),
    ("k3s", "kubectl"): _of(),
    ("yarn", "exec"): _of(),
    ("yarn", "dlx"): _of("p", "q", "package", "quiet"),
    ("npm", "exec"): _of("p", "y", "package", "yes"),
    ("mise", "exec"): _of("j", ""),
    ("agent-memory", "guard"): _of(),
    ("docker", "exec"): _of(
        "euw", "dit", "env user workdir env-file detach-keys", "detach interactive tty privileged", skip=1
    ),
    ("docker", "run"): _of(
        "aceuwvphlm",
        "ditPq",
        "attach add-host annotation blkio-weight cap-add cap-drop cgroup-parent cgroupns cidfile cpu-period cpu-quota"
        " cpu-shares cpus cpuset-cpus cpuset-mems detach-keys device dns dns-option dns-search domainname"
        " entrypoint env env-file expose gpus group-add health-cmd hostname ip ipc isolation label label-file link"
        " log-driver log-opt mac-address memory memory-swap mount name network net network-alias oom-score-adj pid"
        " pids-limit platform publish pull restart runtime security-opt shm-size stop-signal stop-timeout storage-opt"
        " sysctl tmpfs ulimit user userns uts volume volume-driver volumes-from workdir userns secret",
        "detach interactive tty privileged rm init read-only publish-all no-healthcheck oom-kill-disable quiet",
        skip=1,
    ),
    ("docker", "compose"): _of(),
}
SUBCOMMANDS |= {("docker-compose", sub): SUBCOMMANDS["docker", sub] for sub in ("exec", "run")}
for _name in ("podman", "nerdctl"):
    SUBCOMMANDS |= {(_name, sub): launcher for (name, sub), launcher in SUBCOMMANDS.items() if name == "docker"}
