"""Sentences that stand both in what is trained on and in what is measured.

    python3 scripts/train/leaks.py --locomo LOCOMO.json    # writes models/data/locomo.hashes anew

LoCoMo itself is not in this repository; hashes of its sentences are, so that a test can compare with them.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "models" / "data"
HASHES = DATA / "locomo.hashes"
WORDS, BYTES = 6, 6


def sentences(text: str) -> Iterator[str]:
    """Those of six words or more, in lower case and without punctuation."""
    for part in re.split(r"[.!?;:\n]+", text.lower()):
        words = re.findall(r"\w+(?:['’]\w+)*", part)
        if len(words) >= WORDS:
            yield " ".join(words)


def hashed(sentence: str) -> bytes:
    return hashlib.blake2b(sentence.encode(), digest_size=BYTES).digest()


def written(file: Path) -> str:
    """What stands in one of our files, without its marks."""
    told = []
    for line in lzma.decompress(file.read_bytes()).decode("utf-8").splitlines():
        if line[:2] in ("? ", "! "):
            told.append(line.rsplit("|", 1)[-1])
        elif line[:1] not in ("@", "#"):
            told.append(re.sub(r"^(- |\w+(?= \{|: ))?( ?\{\w+\})?:?( \d{4}-\d\d-\d\d\S* \|)?", "", line))
    return "\n".join(told)


def locomo_hashes() -> frozenset[bytes]:
    data = HASHES.read_bytes()
    return frozenset(data[start : start + BYTES] for start in range(0, len(data), BYTES))


def texts(value: object) -> Iterator[str]:
    """Every text in it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts(list(value.values()))
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


def together(several: Iterable[str]) -> frozenset[str]:
    return frozenset(sentence for text in several for sentence in sentences(text))


def main() -> None:
    data = json.loads(Path(sys.argv[sys.argv.index("--locomo") + 1]).read_text("utf-8"))
    parts = [one[name] for one in data for name in ("conversation", "qa")]
    HASHES.write_bytes(b"".join(sorted(map(hashed, together(texts(parts))))))


if __name__ == "__main__":
    main()
