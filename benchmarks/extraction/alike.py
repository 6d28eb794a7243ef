"""Where two facts look alike: pairs about the same entities that repeat or contradict each other, and pairs that do
not, by the similarity of the model that the package brings.

    python benchmarks/extraction/alike.py
"""

from __future__ import annotations

import json
from pathlib import Path

from agent_memory.core.upkeep.alike import ALIKE
from agent_memory.engines.onnx.embedder import OnnxEmbedder

PAIRS = Path(__file__).with_name("pairs.jsonl")


def main() -> None:
    embedder = OnnxEmbedder()
    measured = []
    for line in PAIRS.read_text("utf-8").splitlines():
        one, other, alike = json.loads(line)
        first, second = embedder.embed_many([one, other])
        measured.append((float(first @ second), bool(alike)))
    print("threshold  precision  recall")
    for at in sorted({0.65, 0.7, 0.75, 0.8, 0.85, ALIKE}):
        told = [alike for similarity, alike in measured if similarity >= at]
        recall = sum(told) / sum(alike for _, alike in measured)
        print(f"{at:9}  {sum(told) / max(len(told), 1):9.3f}  {recall:6.3f}{'  <- ours' if at == ALIKE else ''}")


if __name__ == "__main__":
    main()
