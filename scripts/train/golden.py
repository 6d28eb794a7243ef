"""Write what both models say of a few texts: `tests/unit/engines/onnx/test_onnx_ranker.py` compares, on any processor.

.venv/bin/python scripts/train/golden.py
"""

from __future__ import annotations

import json
from pathlib import Path

from agent_memory.engines.onnx.embedder import OnnxEmbedder
from agent_memory.engines.onnx.ranker import OnnxRanker
from agent_memory.ports.reranker import TextInPlace

FILE = Path(__file__).resolve().parents[2] / "tests" / "data" / "models-golden.json"
TEXTS = [
    "Staging listens on port 5433.",
    "Which foods should be avoided for this user?",
    "",
    "no. " * 400,
    "東京 naïve café",
]
QUESTION = "Which port does the staging database listen on?"
TOLD = [
    TextInPlace("It moved to 5433 last week.", "Priya, 3 May 2026", "And which port is it on now?"),
    TextInPlace("We had lunch at the harbour.", "Tom, 3 May 2026", "Where were you?"),
    TextInPlace("Staging listens on port 5433."),
]


def main() -> None:
    rows = OnnxEmbedder().embed_many(TEXTS)
    odds = OnnxRanker().judge(QUESTION, TOLD, 60)
    golden = {
        "vectors": [
            {"text": text, "vector": [round(float(one), 4) for one in row]}
            for text, row in zip(TEXTS, rows, strict=True)
        ],
        "odds": [
            {"question": QUESTION, "told": list(told), "odds": round(one, 4)}
            for told, one in zip(TOLD, odds, strict=True)
        ],
    }
    FILE.write_text(json.dumps(golden, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
