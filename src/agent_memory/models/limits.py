"""How much may be asked for at once, and how long a text may be: said in every door's description, and kept there."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from agent_memory.models.model import clean_text, of_length
from agent_memory.models.record import LONGEST_TEXT

LONGEST_QUERY = 20_000
MOST_HITS = 1000
MOST_DENIALS = 10_000
USUAL_TOKENS = 8000  # of a session's prompt


def _said(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    return text


Query = Annotated[str, AfterValidator(clean_text), of_length(1, LONGEST_QUERY)]
Phrase = Annotated[str, AfterValidator(clean_text), AfterValidator(_said), of_length(1, LONGEST_TEXT)]
RecordText = Annotated[str, AfterValidator(clean_text), of_length(0, LONGEST_TEXT)]
Hits = Annotated[int, Field(ge=1, le=MOST_HITS)]
Bundled = Annotated[int, Field(ge=1, le=200)]
Many = Annotated[int, Field(ge=1, le=10_000)]
Few = Annotated[int, Field(ge=1, le=1000)]
"""Of a list whose lines have to be put together: receipts, commits."""
Named = Annotated[int, Field(ge=1, le=100)]
"""Of ids that begin alike."""
Denials = Annotated[int, Field(ge=1, le=MOST_DENIALS)]
Tokens = Annotated[int, Field(ge=1, le=1_000_000)]
SessionTokens = Annotated[int, Field(ge=256, le=10_000_000)]
"""Of a prompt that has to hold blocks, a summary and turns."""
PerConversation = Annotated[int, Field(ge=0)]
Depth = Annotated[int, Field(ge=1, le=6)]
Priority = Annotated[int, Field(ge=1, le=5)]
Milliseconds = Annotated[int, Field(ge=0, le=2**53)]
Spendable = Annotated[int, Field(ge=0, le=2**53)]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
MoneyLimit = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
SecondsLimit = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
BlockLimit = Annotated[int, Field(ge=1, le=LONGEST_TEXT)]
LineNumber = Annotated[int, Field(ge=0)]
Days = Annotated[float, Field(gt=0, le=36_500)]
LeaseSeconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
"""How long a worker may be silent before its work goes to another."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
