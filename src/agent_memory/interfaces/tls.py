"""The certificate that a server shows, and its key: looked at before anything listens, so that mistakes are told."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from agent_memory.models.errors import InvalidInput


@dataclass(frozen=True)
class Tls:
    """Two PEM files that belong together. The certificate comes first in its file, those that vouch for it after it."""

    certificate: Path
    key: Path

    def read(self) -> tuple[bytes, bytes]:
        """What the files hold: the certificate, and the key."""
        return self.certificate.read_bytes(), self.key.read_bytes()


def checked(certificate: str | None, key: str | None) -> Tls | None:
    """None where neither is given; `InvalidInput` names the file that cannot be used."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        name, other = ("tls_cert", "tls_key") if certificate is None else ("tls_key", "tls_cert")
        raise InvalidInput(f"{name}: is missing beside {other}", hint="give both, or neither", field=name)
    tls = Tls(Path(certificate).expanduser(), Path(key).expanduser())
    for field, file in (("tls_cert", tls.certificate), ("tls_key", tls.key)):
        try:
            file.read_bytes()
        except OSError as error:
            raise InvalidInput(f"{field}: {file}: {error.strerror}", hint="check the path", field=field) from None
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(tls.certificate, tls.key, lambda: "")
    except ssl.SSLError as error:
        why = error.reason or "not readable"
        hint = "both as PEM, the key of just this certificate and without a password"
        raise InvalidInput(
            f"tls_cert: {tls.certificate} and {tls.key} cannot be used: {why}", hint=hint, field="tls_cert"
        ) from None
    return tls
