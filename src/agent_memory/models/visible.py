"""Foreign text is data, and data can be seen: what is invisible, turns text round or drives a terminal is spelled out.

Invisible letters can say to a model what no reader of the text sees (tags, variation selectors, zero-width marks), and
marks of direction show one thing and say another. What ordinary text needs stays: the parts of one emoji, and the
joiners of scripts that are not readable without them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# Unicode's Default_Ignorable_Code_Point, marks of direction, separators of lines, and controls but newline and tab.
_HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
_EMOJI = (
    r"[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    r"\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff][\ufe0e\ufe0f]?"
)
# The flags of England, Scotland and Wales are spelled in tags: "gbeng", "gbsct", "gbwls".
_FLAG = "\U0001f3f4(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(letter)) for letter in name) for name in ("gbeng", "gbsct", "gbwls"))
)
# Arabic, Syriac, the scripts of India and of South-East Asia join letters, or part them, by a mark of no width.
_JOINED = r"(?<=[\u0620-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff\ufb50-\ufdff\ufe70-\ufefc])[\u200c\u200d]"
_MONGOLIAN = r"(?<=[\u1820-\u18aa])[\u180b-\u180f]"
_FOUND = (
    rf"(?P<kept>{_FLAG}|{_EMOJI}(?:\u200d{_EMOJI})*|[0-9#*]\ufe0f\u20e3|{_JOINED}|{_MONGOLIAN})"
    rf"|(?P<end>\r\n)|[{_HIDDEN}]"
)
_ANY = re.compile(f"[{_HIDDEN}]")
_NAMES = {"\r": "\\r", "\x0b": "\\v", "\x0c": "\\f"}


def visible(text: str) -> str:
    """For people and for models; newlines and tabs stay. Not to be undone: what is stored stays as it is."""
    return spelled(text, _name)


def spelled(text: str, spell: Callable[[str], str]) -> str:
    """The text with every hidden character as `spell` writes it, and plain newlines for those of Windows."""
    if not _ANY.search(text):
        return text

    def shown(match: re.Match[str]) -> str:
        return match["kept"] or ("\n" if match["end"] else spell(match.group()))

    return re.sub(_FOUND, shown, text)


def _name(character: str) -> str:
    code = ord(character)
    return _NAMES.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{{{code:x}}}")
