"""`agent-memory doctor`: print what `app/doctor.py` finds. It works, too, when the store cannot be opened."""

from __future__ import annotations

import click

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.session import Session

STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


@whose.anywhere
@click.command("doctor", short_help="Check this machine, the store and the embedder, and say how to repair them")
@click.option("--json", "_json", is_flag=True, help="answer in JSON")
@click.pass_obj
def command(session: Session, _json: bool) -> int:
    """Check this machine, the store and the embedder, and say how to repair them.

    Nothing is changed and no store is created. Exits with 1 if anything fails; warnings do not count.
    """
    from agent_memory.app.check import CheckState
    from agent_memory.app.doctor import examine
    from agent_memory.interfaces.cli import exits, output
    from agent_memory.interfaces.cli.blocks import Block, Sentence

    checks = examine(session.store, session.user, session.tenant, session.agent)
    failed = any(check.state is CheckState.FAIL for check in checks)
    if session.json or _json:
        output.write_json({"ok": not failed, "checks": checks})
    else:
        lines: list[Block] = []
        for check in checks:
            lines.append(Sentence(f"{check.name:<12} {check.detail}", STYLES[check.state], lead=f"{check.state:<5} "))
            if check.fix:
                lines.append(Sentence(f"{'':18} → {check.fix}", "dim"))
        output.write(lines)
    return exits.PROBLEMS if failed else exits.OK
