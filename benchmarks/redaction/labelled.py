"""A labelled set: texts with a secret of a known kind, and texts that only look so.

Nothing here is a credential. Secrets are made of random characters, always the same ones, in the shapes that the real
ones have, and put into what people and programs write around them.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

LOWER, UPPER, DIGITS, HEX = string.ascii_lowercase, string.ascii_uppercase, string.digits, "0123456789abcdef"
ALNUM = LOWER + UPPER + DIGITS
URLSAFE = ALNUM + "-_"
EACH = 6  # of every kind


class Sample(NamedTuple):
    """`secret` is empty, and `kind` says what it looks like, where there is nothing to find. `mapping`: it is JSON, and
    is looked at as text and as the values that it spells."""

    kind: str
    text: str
    secret: str = ""
    mapping: bool = False


def _pick(dice: random.Random, characters: str, number: int) -> str:
    """At random, with a digit and a letter among them where that can be, as real ones nearly always have."""
    while True:
        made = "".join(dice.choices(characters, k=number))
        if number < 8 or all(any(map(sort, made)) for sort in (str.isdigit, str.isalpha) if any(map(sort, characters))):
            return made


def _jwt(dice: random.Random) -> str:
    head, body = ({"alg": "HS256", "typ": "JWT"}, {"sub": _pick(dice, DIGITS, 6), "iat": 1700000000, "name": "Ada"})
    parts = (base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=").decode() for one in (head, body))
    return ".".join([*parts, _pick(dice, URLSAFE, 43)])


def _pem(dice: random.Random, what: str = "RSA ") -> str:
    lines = "\n".join(_pick(dice, ALNUM + "+/", 64) for _ in range(12))
    return f"-----BEGIN {what}PRIVATE KEY-----\n{lines}\n-----END {what}PRIVATE KEY-----"


def _password(dice: random.Random) -> str:
    word = dice.choice(["Winter", "dragon", "Tr0mbone", "berlin", "Quiet", "marble"])
    return word + dice.choice("!#%*_-+") + _pick(dice, DIGITS, 3) + dice.choice(LOWER)


SHAPES: dict[str, Callable[[random.Random], str]] = {
    "aws-access-key": lambda d: "AKIA" + _pick(d, UPPER + "234567", 16),
    "gcp-api-key": lambda d: "AIza" + _pick(d, URLSAFE, 35),
    "gcp-oauth": lambda d: "GOCSPX-" + _pick(d, URLSAFE, 28),
    "github-token": lambda d: d.choice(["ghp_", "gho_", "ghs_"]) + _pick(d, ALNUM, 36),
    "github-fine-grained": lambda d: "github_pat_" + _pick(d, ALNUM, 22) + "_" + _pick(d, ALNUM, 59),
    "gitlab-token": lambda d: "glpat-" + _pick(d, URLSAFE, 20),
    "slack-token": lambda d: f"xoxb-{_pick(d, DIGITS, 12)}-{_pick(d, DIGITS, 12)}-{_pick(d, ALNUM, 24)}",
    "stripe-key": lambda d: d.choice(["sk", "rk"]) + "_live_" + _pick(d, ALNUM, 24),
    "openai-key": lambda d: f"sk-proj-{_pick(d, ALNUM, 74)}T3BlbkFJ{_pick(d, ALNUM, 74)}",
    "openai-old-key": lambda d: f"sk-{_pick(d, ALNUM, 20)}T3BlbkFJ{_pick(d, ALNUM, 20)}",
    "anthropic-key": lambda d: f"sk-ant-api03-{_pick(d, URLSAFE, 93)}AA",
    "huggingface-token": lambda d: "hf_" + "".join(d.choices(LOWER + UPPER, k=34)),
    "npm-token": lambda d: "npm_" + _pick(d, ALNUM, 36),
    "pypi-token": lambda d: "pypi-AgEIcHlwaS5vcmc" + _pick(d, URLSAFE, 70),
    "sendgrid-key": lambda d: f"SG.{_pick(d, URLSAFE, 22)}.{_pick(d, URLSAFE, 43)}",
    "twilio-key": lambda d: "SK" + _pick(d, HEX, 32),
    "telegram-token": lambda d: f"{d.randrange(10**9, 10**10)}:AA{_pick(d, URLSAFE, 33)}",
    "digitalocean-token": lambda d: "dop_v1_" + _pick(d, HEX, 64),
    "databricks-token": lambda d: "dapi" + _pick(d, HEX, 32),
    "vault-token": lambda d: "hvs." + _pick(d, URLSAFE, 95),
    "shopify-token": lambda d: "shpat_" + _pick(d, HEX, 32),
    "docker-token": lambda d: "dckr_pat_" + _pick(d, URLSAFE, 27),
    "azure-client-secret": lambda d: f"{_pick(d, ALNUM, 3)}{d.randrange(10)}Q~{_pick(d, ALNUM + '_.-', 34)}",
    "jwt": _jwt,
    "private-key": _pem,
    "ssh-private-key": lambda d: _pem(d, "OPENSSH "),
}
AROUND = (
    "export SERVICE_TOKEN={}",
    'client = Client(auth="{}")',
    "I pasted {} into the chat by mistake, please rotate it",
    '{{"headers": {{"x-api-key": "{}"}}, "retries": 3}}',
    "# old credentials\ntoken: {}\nregion: eu-west-1",
    "curl -H 'Authorization: Bearer {}' https://api.internal/v1/items",
)
IN_CONTEXT: dict[str, tuple[Callable[[random.Random], str], tuple[str, ...]]] = {
    "aws-secret-key": (
        lambda d: _pick(d, ALNUM + "+/", 40),
        ("aws_secret_access_key = {}", "AWS_SECRET_ACCESS_KEY={}", '"SecretAccessKey": "{}"', "secretKey: '{}'") * 2,
    ),
    "azure-storage-key": (
        lambda d: _pick(d, ALNUM + "+/", 86) + "==",
        ("DefaultEndpointsProtocol=https;AccountName=logs;AccountKey={};EndpointSuffix=core.windows.net",) * EACH,
    ),
    "url-password": (
        _password,
        (
            "postgresql://ada:{}@db.internal:5432/app",
            "the queue is amqp://worker:{}@mq:5672/ now",
            "DATABASE_URL=mysql://root:{}@10.0.0.7/shop",
            "git clone https://ada:{}@git.internal/team/repo.git",
            "redis://:{}@cache:6379/0",
            '{{"mongo": "mongodb+srv://app:{}@cluster0.internal/test"}}',
        ),
    ),
    "connection-string": (
        _password,
        (
            "Server=tcp:sql.internal,1433;Database=app;User ID=sa;Password={};Encrypt=True",
            "Data Source=db;Initial Catalog=shop;User Id=app;Pwd={};",
            "host=db port=5432 dbname=app user=ada password={}",
        )
        * 2,
    ),
    "password": (
        _password,
        (
            'password = "{}"',
            "DB_PASSWORD={}",
            "spring.datasource.password={}",
            '{{"user": "ada", "password": "{}"}}',
            "the staging password is {}",
            "mysql_root_passwd: {}",
            "mysqldump --user=root --password={} shop",
            "const dbPassword = '{}';",
        ),
    ),
    "api-key": (
        lambda d: _pick(d, LOWER + DIGITS, 32),
        (
            "API_KEY={}",
            'api_key: "{}"',
            'apiKey = "{}"',
            "WEATHER_API_TOKEN={}",
            '{{"client_secret": "{}"}}',
            "access_token={}&scope=all",
            "x.auth_token := `{}`",
            "signing_key = '{}'",
        ),
    ),
    "basic-auth": (
        lambda d: base64.b64encode(f"ada:{_password(d)}".encode()).decode(),
        ("Authorization: Basic {}", "curl -H 'Authorization: Basic {}' https://api.internal") * 3,
    ),
}


def secrets() -> Iterator[Sample]:
    dice = random.Random(20261118)
    for kind, make in SHAPES.items():
        for around in AROUND:
            secret = make(dice)
            alone = around if "PRIVATE KEY" not in secret else "the key of the old server:\n{}\nis still in use"
            yield Sample(kind, alone.format(secret), secret)
    for kind, (make, places) in IN_CONTEXT.items():
        for place in places:
            secret = make(dice)
            yield Sample(kind, place.format(secret), secret)
    yield from (Sample("quoted", place.format(secret), secret) for place, secret in QUOTED)
    yield from (Sample("in a mapping", place.format(secret), secret, mapping=True) for place, secret in MAPPED)


ORDINARY = """\
The password is required, and must be at least 12 characters
password: str = Field(min_length=8)
Reset your password at https://app.internal/reset
token_count = 1532, max_tokens: 4096, tokens per second: 87
password = os.environ["DB_PASSWORD"]
password = getpass.getpass()
api_key = settings.api_key
apiKey: process.env.API_KEY
API_KEY=your_api_key_here
API_KEY=<your-api-key>
secret: ${SECRET_FROM_VAULT}
password: "{{ vault_db_password }}"
SECRET_KEY=changeme
password=********
token = request.headers.get("X-Token2")
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
secretName: checkout-tls-2024
secretKeyRef: {name: checkout-db, key: password}
imagePullSecrets: [{name: registry-pull-2}]
kubernetes.io/service-account.name: ci-deployer-v2
postgresql://ada@db.internal:5432/app
http://localhost:8005/memory/retrieve?q=token&k=5
postgres://user:password@localhost/db
https://user:${PASSWORD}@host/path
the key insight: caching wins 3 to 1
primary_key: order_2024_17
cache_key = f"user:{user_id}:profile:v2"
public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8f0dV8XHkzQm1YwD2q9s0t7u5v3w1x9y8z7A6B5C4D ada@laptop
next_page_token: CAUQAA8f3d9c1b
tokenizer: cl100k_base
auth: oauth2-proxy/7.5.1
pass: 118/120 tests
PWD=/home/ada/projects/memory2
passed 57 of 60 checks; bypass = None
author: Ada Lovelace <ada@example.com>
author=r2d2-bot
sk-learn and task-runner-2 are installed
risk-assessment-2024-q3-final-version-approved-by-the-board
Bearer of good news: shipment 20241117 arrived
Basic understanding of Kubernetes 1.29 is enough
private_key_path: /etc/ssl/private/server2.key
ssl_certificate_key /etc/nginx/certs/site2.key;
token: string | undefined
password?: string;
def check_password(user, password): return hash2(password)
if (token === undefined) { throw new Error('E1042') }
hint = "use a secret manager, not a file, since v2.1"
The secret of the recipe is 2 spoons of sugar
The password is wrong.
their password is empty.
The password was changed! Please sign in again
Password: required.
the passphrase is missing...
Is the password correct? The password is self-explanatory.
the token expired at 2026-11-17T09:30:00Z
""".splitlines()


MAPPINGS: tuple[dict[str, object], ...] = (
    {"token_count": "1532a of 4096b"},
    {"secret_name": "my-secret"},
    {"secretName": "checkout-tls-2024"},
    {"password_policy": "rotate every 90 days"},
    {"key": "checkout/port"},
    {"key": "db_password", "type": "string2"},
    {"auth": "oauth2-proxy"},
    {"auth": "oauth2-proxy/7.5.1"},
    {"password": "see 1Password item"},
    {"password": "1Password: Shared/db2"},
    {"password": "stored in Bitwarden as db-2"},
    {"password": "ask ada2 on Slack"},
    {"password": "must have 12 characters"},
    {"password": "the one from 2024-Q3"},
    {"password": "Reset link was sent on 12 May"},
    {"password": "rotated on 2026-11-02"},
    {"password": "expires in 90 days"},
    {"token": "<your token>"},
    {"token": "${TOKEN}"},
    {"token": "$TOKEN2"},
    {"token": "$(cat /run/secrets/token2)"},
    {"token": "vault:kv/x2#y"},
    {"token": "vault:secret/data/app2#token"},
    {"password": "op://prod/db2/password"},
    {"password": "{{ secret_2 }}"},
    {"password": "{{ .Values.db2.password }}"},
    {"password": "%(DB2_PASSWORD)s"},
    {"password": "!vault db2"},
    {"password": "ENC[see sops, key 2]"},
    {"password": "/run/secrets/db2"},
    {"password": "./secrets/db2.txt"},
    {"password": "secrets/db2.txt"},
    {"password": "~/.pgpass2"},
    {"private_key": "certs/server2.key"},
    {"private_key": "/etc/ssl/private/server2.key"},
    {"signing_key": "release-2024.pem"},
    {"password": "DB_PASSWORD_2"},
    {"api_key": "STAGING_API_KEY_V2"},
    {"api_key": "process.env.API_KEY_2"},
    {"api_key": "os.environ['KEY_2']"},
    {"api_key": "env:API_KEY_2"},
    {"api_key": "ref+awssecrets://app2/key"},
    {"api_key": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:app2-x7Kq"},
    {"api_key": "arn:aws:ssm:eu-west-1:123456789012:parameter/app2/key"},
    {"api_key": "projects/acme-1/secrets/api-key/versions/3"},
    {"api_key": "aws-sm:prod/app2"},
    {"api_key": "keyring:app2/ada"},
    {"api_key": "kms:alias/app2"},
    {"api_key": "https://vault.internal/v1/app2"},
    {"password": True, "token": False, "secret": None},
    {"password": "true", "token": "false", "secret": "null"},
    {"token": "required", "password": "optional"},
    {"token": "string", "password": "varchar(255)"},
    {"password": "changeme123"},
    {"password": "your-password-here1"},
    {"password": "xxxxxxxx"},
    {"password": "********"},
    {"password": "[hidden 8 characters]"},
    {"password": "(unchanged)"},
    {"max_tokens": 4096, "tokens": "87 per second", "tokenizer": "cl100k_base"},
    {"token_type": "bearer2", "token_endpoint": "https://id.internal/oauth2/token"},
    {"secret_rotation": "every 30d", "secret_store": "aws-sm-eu1", "secret_version": "v12"},
    {"password_hash_algorithm": "argon2id", "password_min_length": "12"},
    {"password_reset_url": "https://app.internal/reset?step=2"},
    {"password_file": "/run/secrets/pg2", "token_path": "tokens/2024/a1"},
    {"key_id": "key-2024-11", "public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8f0dV8XHkz"},
    {"primary_key": "order_2024_17", "foreign_key": "customer_id2", "sort_key": "created_at2"},
    {"cache_key": "user:42:profile:v2", "partition_key": "tenant-7#2026-11"},
    {"access_key_rotation": "90d", "credentials_source": "EcsContainer2"},
    {"credentials": "include", "credential": "same-origin"},
    {"next_page_token": "CAUQAA8f3d9c1b", "sync_token": "s2f9d81c7b", "csrf_token": "f3a91c7be5d042886a1f"},
    {"author": "r2d2-bot", "passed": "57 of 60", "bypass": "cdn-2", "compass": "north2"},
)
"""Names that sound like a secret, and values that are none."""

MAPPED: tuple[tuple[str, str], ...] = (
    ('{{"password": "{}"}}', "hunter2, and more!"),
    ('{{"db": {{"password": "{}"}}}}', "Quiet Marble 482q!"),
    ('{{"client_secret": "{}"}}', "f3a91c7be5d042886a1f"),
    ('{{"key": "DB_PASSWORD", "value": "{}"}}', "Marble!482q"),
    ('{{"settings": [{{"name": "api_token", "value": "{}"}}]}}', "9c7be5d042886a1ff3a9"),
    ('{{"smtp.password": "{}"}}', "w1nter_ha7t"),
)
QUOTED: tuple[tuple[str, str], ...] = (
    ('password = "{}"', "hunter2, and more!"),
    ("export DB_PASSWORD='{}'", 'a "quoted" one 7x!'),
    ("db:\n  password: '{}'\n  port: 5432", "Tr0mbone; #9, yes"),
    ("mysql -u root -p'{}' shop", "berlin & 204x!"),
    ("mysqldump --password='{}' shop", "dragon, 118q#"),
    (r"{{\"password\": \"{}\"}}", "winter2, and more!"),
    ('the password is "{}", keep it', "marble2; or more!"),
    ("db:\n  password: |\n    {}\n  port: 5432", "Marble!482q"),
    ('apiKey: "{}"', "f3a91c,7be5d0;42886a1f"),
)
"""With commas, blanks and quotes of the other sort."""

STAND_INS = ("xxxxxxxxxxxx", "your-key-here-123", "<insert-token-2>", "CHANGE_ME_1")
ELSEWHERE = ("vault:secret/data/app2#key", "op://prod/db2/password", "${env:TOKEN_V2}", "config.keys[2].value")


def _look_alikes(dice: random.Random) -> dict[str, Callable[[], str]]:
    def hexes(n: int) -> str:
        return _pick(dice, HEX, n)

    def b64(n: int) -> str:
        return base64.b64encode(dice.randbytes(n)).decode()

    def uuid() -> str:
        return "-".join(map(hexes, (8, 4, 4, 4, 12)))

    def name() -> str:
        return "".join(word.title() for word in dice.sample(["abstract", "order", "factory", "bean", "proxy", "handler",
                                                             "async", "retry", "ledger", "customer"], 6))  # fmt: skip

    pod = LOWER.replace("a", "").replace("e", "") + "2456789"
    return {
        "uuid": lambda: f"request {uuid()} took {dice.randrange(900)} ms",
        "uuid as an id": lambda: json.dumps({"id": uuid(), "parent_id": uuid(), "status": "done"}),
        "git hash": lambda: f"{dice.choice(['commit', 'fixed in', 'cherry-pick', 'HEAD is now at'])} {hexes(40)}",
        "short hash": lambda: f"* {hexes(7)} Merge branch 'key-rotation' into main ({hexes(10)})",
        "sha256": lambda: f"sha256:{hexes(64)}  dist/agent_memory-0.1.0-py3-none-any.whl",
        "docker digest": lambda: f"image: registry.internal/app/api@sha256:{hexes(64)}",
        "npm lock": lambda: f'"integrity": "sha512-{b64(64)}", "resolved": "https://registry.internal/p-{hexes(2)}.tgz"',
        "go.sum": lambda: f"github.com/acme/token v1.{dice.randrange(30)}.0 h1:{b64(32)}",
        "cargo lock": lambda: f'name = "secrecy"\nversion = "0.8.{dice.randrange(9)}"\nchecksum = "{hexes(64)}"',
        "poetry lock": lambda: f'    {{file = "keyring-24.{dice.randrange(9)}.tar.gz", hash = "sha256:{hexes(64)}"}},',
        "base64 image": lambda: f'<img src="data:image/png;base64,iVBORw0KGgo{b64(90)}">',
        "certificate": lambda: f"-----BEGIN CERTIFICATE-----\n{b64(48)}\n{b64(48)}\n-----END CERTIFICATE-----",
        "public key": lambda: f"-----BEGIN PUBLIC KEY-----\n{b64(48)}\n-----END PUBLIC KEY-----",
        "ssh public key": lambda: f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB{b64(60)} ada@laptop",
        "kubernetes pod": lambda: f"pod/secret-sync-{_pick(dice, pod, 9)}-{_pick(dice, pod, 5)} is CrashLooping",
        "long identifier": lambda: f"at com.acme.security.{name()}{dice.randrange(99)}.tokenFor"
        f"({name()}.java:{dice.randrange(900)})",
        "minified js": lambda: f"!function(e,t){{var n={{key:{dice.randrange(99)},token:t.a{dice.randrange(9)}(e)}};"
        f"n.auth=e.b{dice.randrange(9)}||n.key}}(window,r{dice.randrange(9)});",
        "etag": lambda: f'ETag: W/"{hexes(32)}"  Content-Length: {dice.randrange(10**6)}',
        "traceparent": lambda: f"traceparent: 00-{hexes(32)}-{hexes(16)}-01",
        "ulid": lambda: f"record 01{_pick(dice, '0123456789abcdefghjkmnpqrstvwxyz', 24)} was amended",
        "s3 path": lambda: f"s3://logs-{dice.randrange(99)}/year=2026/key={hexes(16)}/part-{uuid()}.parquet",
        "css class": lambda: f'<div class="Button_primary__{_pick(dice, ALNUM, 5)} token-{dice.randrange(9)}">',
        "ordinary url": lambda: f"https://docs.internal/api/keys?page={dice.randrange(99)}&id={uuid()}",
        "timestamp": lambda: f"2026-11-{dice.randrange(10, 28)}T09:{dice.randrange(10, 59)}:00Z key rotated, "
        f"{dice.randrange(99)} tokens revoked",
        "placeholder": lambda: f"{dice.choice(['API_KEY', 'password', 'SECRET_TOKEN', 'client_secret'])}"
        f"{dice.choice(['=', ': '])}{dice.choice(STAND_INS)}",
        "reference": lambda: f"{dice.choice(['password', 'api_key', 'auth_token'])} = "
        f"{dice.choice(ELSEWHERE)}",
    }  # fmt: skip


def look_alikes() -> Iterator[Sample]:
    yield from (Sample("ordinary", text) for text in ORDINARY)
    yield from (Sample("named alike", json.dumps(one), mapping=True) for one in MAPPINGS)
    dice = random.Random(20261119)
    for kind, make in _look_alikes(dice).items():
        for _ in range(2 * EACH):
            yield Sample(kind, make())
