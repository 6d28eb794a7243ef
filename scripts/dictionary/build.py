"""The dictionary by which short texts are compressed: `python scripts/dictionary/build.py`.

It is made of texts of ours alone: the collections of benchmarks/operations, and an invented chat beside this file.
Texts that were encoded by it can be read by nothing else, so a released one is never made again: a better one gets the
next number, in its file and in the name of its codec (`ledger/codecs.py`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROOT = Path(__file__).resolve().parents[2]
TO = ROOT / "src/agent_memory/ledger/texts-1.dictionary"
SIZE = 112 * 1024
LEVEL = 19


def main() -> None:
    chat = (ROOT / "scripts/dictionary/chat.txt").read_text("utf-8").splitlines()
    lines = (ROOT / "benchmarks/operations/operations.jsonl").read_text("utf-8").splitlines()
    texts = [item["text"] for line in lines for item in json.loads(line)["corpus"]]
    samples = [text.encode() for text in (*chat, *texts)]
    # What is near the end is the cheapest to name: the chat, which is of no trade.
    content = b"\n".join(reversed(samples))[-SIZE:]
    TO.write_bytes(zstd.finalize_dict(zstd.ZstdDict(content, is_raw=True), samples, SIZE, LEVEL).dict_content)


if __name__ == "__main__":
    main()
