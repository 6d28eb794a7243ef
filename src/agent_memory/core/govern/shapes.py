r"""What secrets and personal data look like: one table, in the order in which shapes are tried.

Every expression takes time that grows with the text and no faster: it begins with fixed characters or looks back a
bounded way, and what repeats is bounded or possessive (`++`), so that nothing is tried twice. The `hint`, in RE2's
syntax, is what a text must hold before the expression is tried at all: all hints are looked for in one pass, and most
texts hold none. The group `secret` is what is taken out; without one it is the whole match. `check` has the last word
about it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

MARK = "[redacted:"

_BEGINS = r"(?<![^\W_])"  # also after an underscore, where `\b` is not
_ENDS = r"(?![A-Za-z0-9])"
_PLACEHOLDER = (
    r"(?i)^(?:[x*.\-_#•0]+|\([^)]*\)|\[[^\]]*\]|"
    r"(?:my|your|the|some|an?)[_\-. ][\w.-]*|(?:my|your)(?:pass|secret|token|key|api)\w*|"
    r".*(?:example|change[_-]?(?:me|it)|placeholder|redacted|dummy|insert|replace[_-]?(?:me|this|with)|<[^>]{1,60}>|"
    r"\$\{|\$\(|\{\{|%[sd(]|\.\.\.|xxxx|\*\*\*|todo).*|"
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|none|null|undefined|true|false|string|required|optional)\d{0,3})$"
)
_REFERENCE = (  # to where a value is, instead of the value
    r"(?i)^(?:\$|%|@|--|[~.]{0,2}/|[a-z]{2,10}://|process\.env|os\.environ|env[.(\[:]|vault:|op://|"
    r"arn:aws[\w-]{0,10}:|ref\+|secrets?[.:/]|"
    r"(?:self|this|config|settings|options|args|ctx|params|req|request|data|props|state|user|conf|cfg)[.\[]|\w+\(|"
    r"(?:aws|gcp|azure|ssm|sops|kms|k8s|bao|doppler|infisical|chamber|keyring|keychain|env|file)(?:-\w{1,20})?[:/]|"
    r"projects/[^/]+/secrets/|.*(?:1password|bitwarden|lastpass|keepass|dashlane|keychain|secrets? ?manager|"
    r"parameter ?store|\bvault\b))"
)
_VARIABLE = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"  # where a program has a value
_PATH = r"[\w.~/-]{1,200}\.(?:key|pem|crt|cer|txt|env|ya?ml|json|toml|ini|conf|cfg|p12|pfx|jks|gpg|asc|enc|age|pub)"
_NOTE = (  # how people begin who say where a value is, or what it has to be, or what became of it
    r"(?i)(?:see|ask|use|uses|used|stored|kept|held|in|on|from|look|rotate[sd]?|rotating|must|should|shall|may|can|at|"
    r"changed?|same|none|not|no|never|the|an?|any|set|generated|managed|to|via|with|without|by|read|gets?|find|found|"
    r"check|expire[sd]?|requires?|required|minimum|min|max|maximum|lives?|is|are|was|will|it|this|that|only|enter|"
    r"type|your|our|my|their|please|if|when|after|before|until|reset|sent|shared|encrypted|hashed|hidden|removed|"
    r"deleted|unknown|empty|default|same|one|two|every|each|all|also|and|or|for|of)\b"
)
_NO_WORD = r"[a-zA-Z]\d|\d[a-zA-Z]{3}|[!@#$%^&*_+=~](?=\S)|\w[!@#$%^&*_+=~]"
_DENSE = r"[A-Za-z0-9+/=]{20,}+"
_WORDS = r"[A-Za-z]?[a-z]{3,}|[A-Z]{3,}"


@cache
def compiled(expression: str) -> re.Pattern[str]:
    """When it is first needed: most processes meet few kinds of secrets, and many none."""
    return re.compile(expression)


def entropy(text: str) -> float:
    """Bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def said(value: str) -> bool:
    """Whether it is a value, and not a stand-in or the name of a place that has it."""
    return not compiled(_PLACEHOLDER).match(value) and not compiled(_REFERENCE).match(value) and not _elsewhere(value)


def _elsewhere(value: str) -> bool:
    return bool(compiled(_VARIABLE).fullmatch(value) or compiled(_PATH).fullmatch(value))


def random(value: str) -> bool:
    """Whether a value looks as if nobody made it up: letters and digits mixed, and few words in it."""
    if not said(value) or not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    if compiled(_DENSE).fullmatch(value) and sum(map(str.isdigit, value)) > 1:
        return entropy(value) >= 3.2
    spelled = sum(len(word) for word in compiled(_WORDS).findall(value))
    return entropy(value) >= 3.0 and spelled <= 0.6 * len(value)


def random_word(value: str) -> bool:
    """The same of what has no blanks."""
    return len(value.split()) == 1 and random(value)


def strong(value: str) -> bool:
    """Whether a secret cannot be an ordinary word, wherever it stands."""
    return len(value) >= 8 and (random(value) or _sorts(value) >= 3)


def _sorts(value: str) -> int:
    sorts = (str.isdigit, str.islower, str.isupper, lambda one: not one.isalnum())
    return sum(any(map(sort, value)) for sort in sorts)


def password(value: str) -> bool:
    """What somebody would type: at least six characters, of two sorts or more. With blanks it is a note, unless
    something in it is no word."""
    return (" " not in value or not _note(value)) and _typed(value)


def _note(value: str) -> bool:
    begun = compiled(_NOTE).match(value) and not re.search(r"[!#$%^*=~]", value)
    return bool(begun or not compiled(_NO_WORD).search(value))


def _typed(value: str) -> bool:
    named = re.fullmatch(r"[A-Za-z_]+(?:[.\-/][A-Za-z_]+)*+[.!?:…]*", value)  # a name, a path, a type, a word
    return len(value) >= 6 and _sorts(value) >= 2 and any(map(str.isalpha, value)) and not named and said(value)


def _no_example(value: str) -> bool:
    return not re.search(r"(?i)example|xxxx|(.)\1{7}|0123456789|abcdefgh", value) and entropy(value) >= 2.5


def _key_body(value: str) -> bool:
    """Whether these are the lines of a key, and not a few words."""
    return len(value) > 40 and any(map(str.isdigit, value)) and entropy(value) >= 3


def _basic(value: str) -> bool:
    import base64
    import binascii

    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return False


def _luhn(value: str) -> bool:
    digits = [int(one) for one in value if one.isdigit()]
    doubled = [n if place % 2 == 0 else n * 2 - 9 * (n > 4) for place, n in enumerate(reversed(digits))]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _iban(value: str) -> bool:
    plain = value.replace(" ", "")
    return int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1


class SecretShape(NamedTuple):
    kind: str
    hint: str
    expression: str
    check: Callable[[str], bool] = _no_example


def _shape(
    kind: str, hint: str, expression: str, check: Callable[[str], bool] = _no_example, *, ends: str = _ENDS
) -> SecretShape:
    begins, rest = (_BEGINS, expression[2:]) if expression.startswith(r"\b") else ("", expression)
    return SecretShape(kind, hint, begins + rest + ends, check)


NAMED_PASSWORD = r"(?i:(?<!1)passw(?:or)?d|passphrase|passcode|pwd|(?<![a-z])pass|passwort|contraseña|密码|пароль)"
NAMED_SECRET = (
    r"(?i:secret(?:[_\- ]?(?:access[_\- ]?)?key)?|(?<!page)(?<!page[_-])(?<!next[_-])(?<!sync[_-])(?<!csrf[_-])token|"
    r"(?:api|access|auth|private|account|shared|encryption|signing|master|service|license|deploy|webhook|storage)"
    r"[_\- ]?key|credentials?)"
)
_PASSWORD_HINT = r"(?:passw(?:or)?[dt]|passphrase|passcode|pwd|pass|contraseña|密码|пароль)"
_SECRET_HINT = r"(?:secret|token|key|credentials?)"
_GIVEN_HINT = r"""["'`\]\\]{0,2}[ \t]{0,4}[:=]"""
_GIVEN = r"""(?:["'`\]]|\\")?[ \t]{0,4}(?::=|=>|==?|:)[ \t]{0,4}(?:[brfu]{0,2}["'`]|\\")?"""
_QUOTED = (  # up to the quote that it began with: also over commas, blanks and other quotes
    r"""(?P<quote>\\?["'`])(?P<secret>(?:(?<=\w)''(?=\w)|(?!(?P=quote))(?:\\.|[^\\\n])){6,512}+)(?P=quote)"""
)
_GIVEN_QUOTED = r"""(?:["'`\]]|\\")?[ \t]{0,4}(?::=|=>|==?|:)[ \t]{0,4}[brfu]{0,2}""" + _QUOTED
_BLOCK = r"(?:[|>][+-]?[ \t]{0,4}\n[ \t]{1,20})?"  # of YAML
_VALUE = _BLOCK + r"""(?P<secret>(?:[^\s"'`,;<>(){}\[\]\\|&]|&(?!\w{1,40}=)){6,512}+)(?![(\[{])"""

_BETWEEN = r"""(?:[\s"'`,;+>|#*.]|\\[nrt"'\\]){0,80}+"""  # lines of a key, also in code, in a quotation and escaped

SECRETS = (
    _shape(
        "private-key",
        "PRIVATE KEY",
        r"-----BEGIN[ A-Z0-9]{0,40} PRIVATE KEY(?: BLOCK)?-----" + _BETWEEN + r"(?P<secret>"
        r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|X-[\w-]{1,30}):[^\n\\]{0,200}+" + _BETWEEN + r")*+"
        r"[A-Za-z0-9+/]{16,}+(?:" + _BETWEEN + r"[A-Za-z0-9+/]{16,}+)*+={0,2}"
        r"(?:"
        + _BETWEEN
        + r"[A-Za-z0-9+/=]{1,15}+(?="
        + _BETWEEN
        + r"-----END)|"
        + _BETWEEN
        + r"[A-Za-z0-9+/]{1,15}+={1,2})?)",
        _key_body,
        ends="",
    ),
    _shape("aws-access-key", "AKIA|ASIA|ABIA|ACCA|A3T", r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    _shape("google-api-key", "AIza", r"\bAIza[\w-]{35}", ends=r"(?![\w-])"),
    _shape("google-oauth", r"GOCSPX-|ya29\.", r"\b(?:GOCSPX-[\w-]{28}|ya29\.[\w-]{20,512}+)", ends=""),
    _shape(
        "azure-key",
        "(?i)accountkey=|sharedaccesskey=",
        r"(?i:(?:Account|SharedAccess)Key=)(?P<secret>[\w+/]{43,86}={1,2})",
    ),
    _shape("azure-sas", "[?&;]sig=", r"[?&;]sig=(?P<secret>[A-Za-z0-9%+/]{43,100}+(?:%3[dD]|=))", ends=""),
    _shape("azure-secret", "[0-9]Q~", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}", ends=r"(?![\w~-])"),
    _shape("github-token", "gh[pousr]_", r"\bgh[pousr]_[A-Za-z0-9]{36,255}+"),
    _shape("github-token", "github_pat_", r"\bgithub_pat_\w{50,255}+"),
    _shape(
        "gitlab-token",
        "gl[a-z]{2,5}-",
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[\w-]{20,255}+",
        ends="",
    ),
    _shape("slack-token", "xox[abeoprs]|xapp-", r"\b(?:xox[abeoprs](?:\.xox[bp])?|xapp)-[\w-]{10,255}+", ends=""),
    _shape(
        "slack-webhook",
        r"hooks\.slack\.com",
        r"hooks\.slack\.com/(?P<secret>(?:services|workflows|triggers)/[\w+/]{30,80}+)",
        ends="",
    ),
    _shape(
        "discord-webhook",
        "api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d{17,20}/[\w-]{60,80}+)",
        ends="",
    ),
    _shape(
        "stripe-key",
        "[sr]k_(?:live|test|prod)_|whsec_",
        r"\b(?:[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,255}+|whsec_[A-Za-z0-9+/]{32,64}+)",
    ),
    _shape("anthropic-key", "sk-ant-", r"\bsk-ant-[\w-]{20,255}+", ends=""),
    _shape(
        "openai-key",
        r"\bsk-",
        r"(?<![A-Za-z0-9_-])sk-(?:(?:proj|svcacct|admin|or-v1|lf)-[\w-]{20,255}+|[A-Za-z0-9]{32,64}+)",
        random,
        ends=r"(?![\w-])",
    ),
    _shape("huggingface-token", "hf_|api_org_", r"\b(?:hf_|api_org_)[A-Za-z0-9]{34}"),
    _shape("npm-token", "npm_", r"\bnpm_[A-Za-z0-9]{36}"),
    _shape("pypi-token", "pypi-AgEIc", r"\bpypi-AgEIc[\w-]{50,512}+", ends=""),
    _shape("rubygems-key", "rubygems_", r"\brubygems_[a-f0-9]{48}"),
    _shape("docker-token", "dckr_", r"\bdckr_(?:pat|oat)_[\w-]{27,32}", ends=r"(?![\w-])"),
    _shape("sendgrid-key", r"SG\.", r"\bSG\.[\w-]{20,24}\.[\w-]{39,50}", ends=r"(?![\w-])"),
    _shape("twilio-key", r"\bSK[0-9a-f]{8}", r"\bSK[0-9a-f]{32}"),
    _shape("mail-key", "key-[0-9a-f]{8}|[0-9a-f]{8}-us[0-9]", r"\b(?:key-[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2})"),
    _shape("telegram-token", "[0-9]{8}:A", r"(?<!\d)\d{8,10}:A[\w-]{34}", ends=r"(?![\w-])"),
    _shape("digitalocean-token", "do[opr]_v1_", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    _shape("databricks-token", "dapi[0-9a-f]", r"\bdapi[0-9a-f]{32}(?:-\d)?"),
    _shape("vault-token", r"hv[sbr]\.", r"\bhv[sbr]\.[\w-]{24,255}+", ends=""),
    _shape("shopify-token", "shp(?:at|ca|pa|ss)_", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _shape("square-token", "sq0", r"\bsq0[a-z]{3}-[\w-]{22,43}", ends=r"(?![\w-])"),
    _shape("atlassian-token", "ATATT3", r"\bATATT3[\w=-]{50,255}+", ends=""),
    _shape("linear-key", "lin_api_", r"\blin_api_[A-Za-z0-9]{40}"),
    _shape("notion-token", "ntn_", r"\bntn_\d{11}[A-Za-z0-9]{35}"),
    _shape(
        "grafana-token",
        "glc_|glsa_|eyJrIjoi",
        r"\b(?:glc_[A-Za-z0-9+/]{32,400}+={0,2}|glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|eyJrIjoi[\w+/-]{60,400}+={0,2})",
        ends="",
    ),
    _shape("new-relic-key", "NRAK-|NRJS-|NRII-", r"\b(?:NRAK-[A-Z0-9]{27}|NRJS-[a-f0-9]{19}|NRII-[\w-]{32})"),
    _shape("postman-key", "PMAK-", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _shape("figma-token", "figd_", r"\bfigd_[\w-]{38,44}", ends=r"(?![\w-])"),
    _shape("planetscale-token", "pscale_", r"\bpscale_(?:tkn|pw|oauth)_[\w.=-]{32,64}", ends=""),
    _shape("supabase-token", "sbp_", r"\bsbp_[a-f0-9]{40}"),
    _shape("doppler-token", r"dp\.[a-z]{2,5}\.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9.]{40,60}"),
    _shape("pulumi-token", "pul-", r"\bpul-[a-f0-9]{40}"),
    _shape("sentry-token", "sntry[su]_", r"\b(?:sntrys_[\w+/=]{60,400}+|sntryu_[a-f0-9]{64})", ends=""),
    _shape("terraform-token", r"\.atlasv1\.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}", ends=""),
    _shape("age-key", "AGE-SECRET-KEY-", r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _shape("agent-memory-key", "am_[0-9a-f]", r"\bam_[0-9a-f]{12}_[\w-]{43}", ends=r"(?![\w-])"),
    _shape(
        "jwt",
        r"eyJ[\w-]{10}",
        r"\beyJ[\w-]{10,4096}+\.eyJ[\w-]{10,8192}+\.[\w-]{10,1024}+",
        lambda value: True,
        ends="",
    ),
    _shape(
        "url-password",
        r"://[^\s/@]{0,40}:",
        r"(?i:(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://)[^\s:/@\"'`<>]{0,128}:(?P<secret>[^\s@/\"'`<>]{1,256})(?=@[^\s\"'`<>])",
        lambda value: len(value) >= 3 and said(value),
        ends="",
    ),
    _shape(
        "authorization",
        "(?i)authorization|bearer",
        r"(?i:\b(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|token|apikey)\s{1,3}|\bbearer\s)"
        r"(?P<secret>[\w.~+/=-]{16,512}+)",
        random,
        ends="",
    ),
    _shape(
        "authorization", r"(?i)basic\s", r"(?i:\bbasic\s{1,3})(?P<secret>[A-Za-z0-9+/]{8,256}+={0,2})", _basic, ends=""
    ),
    _shape(
        "command-password",
        "--pass|--token|sshpass|-p|-u|--user",
        r"(?:(?:^|\s)(?:--password|--passwd|--pass|--token)[= ]|\bsshpass\s-p\s?|\bmysql\w{0,20}\b[^\n]{0,80}?\s-p|"
        r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)\s?[\"']?[\w.@-]{1,64}:)[\"']?(?P<secret>[^\s\"'`<>]{6,128})",
        _typed,
        ends="",
    ),
    _shape(
        "command-password",
        "--pass|--token|sshpass|-p|-u|--user",
        r"(?:(?:^|\s)(?:--password|--passwd|--pass|--token)[= ]|\bsshpass\s-p\s?|\bmysql\w{0,20}\b[^\n]{0,80}?\s-p)"
        + _QUOTED,
        _typed,
        ends="",
    ),
    _shape("password", "(?i)" + _PASSWORD_HINT + _GIVEN_HINT, NAMED_PASSWORD + _GIVEN_QUOTED, password, ends=""),
    _shape("secret", "(?i)" + _SECRET_HINT + _GIVEN_HINT, NAMED_SECRET + _GIVEN_QUOTED, random_word, ends=""),
    _shape(
        "password",
        "(?i)" + _PASSWORD_HINT + r"[a-z]* (?:is|was|ist|lautet)\b",
        NAMED_PASSWORD + r" (?i:is|was|ist|lautet):? " + _QUOTED,
        password,
        ends="",
    ),
    _shape("password", "(?i)" + _PASSWORD_HINT + _GIVEN_HINT, NAMED_PASSWORD + _GIVEN + _VALUE, password, ends=""),
    _shape("secret", "(?i)" + _SECRET_HINT + _GIVEN_HINT, NAMED_SECRET + _GIVEN + _VALUE, random, ends=""),
    _shape(
        "password",
        "(?i)" + _PASSWORD_HINT + r"[a-z]* (?:is|was|ist|lautet)\b",
        NAMED_PASSWORD + r" (?i:is|was|ist|lautet):? [\"'`]?" + _VALUE,
        password,
        ends="",
    ),
)

PERSONAL = (
    _shape("email", "@", r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}", lambda value: True),
    _shape(
        "iban",
        r"\b[A-Z]{2}[0-9]{2}",
        r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?",
        _iban,
    ),
    _shape("card", "[0-9](?:[0-9 -]{11})", r"(?<![\d.-])(?:\d[ -]?){12,18}\d", _luhn, ends=r"(?![\d.-])"),
    _shape(
        "phone",
        "[0-9][ .)-]",
        r"(?<![\w.])(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)[ .-]?|\d{2,4}[ .-])\d{3,4}[ .-]?\d{3,4}",
        lambda value: True,
        ends=r"(?![\w-])",
    ),
    _shape(
        "us-social-security",
        "[0-9]{3}-[0-9]{2}-",
        r"(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}",
        lambda value: True,
        ends=r"(?![\w-])",
    ),
)
