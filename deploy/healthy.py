"""Whether the program of this container is well: the health check of the image, for every command that it can run.

What has a port must answer `/readyz` there, in the clear or, where it shows a certificate, over TLS; whose certificate
that is does not matter on this address. A worker has no port: Docker sees by itself whether it runs.
"""

import http.client
import ssl
import sys
from itertools import pairwise
from pathlib import Path

PORT, SECONDS = 8005, 4


def ready(connection: http.client.HTTPConnection) -> bool:
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    finally:
        connection.close()


def main() -> int:
    process = sys.argv[1] if len(sys.argv) > 1 else "1"
    words = Path(f"/proc/{process}/cmdline").read_text().split("\0")
    if "serve" not in words:
        return 0
    port = max((int(word) for before, word in pairwise(words) if before == "--port"), default=PORT)
    try:
        return not ready(http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS))
    except (OSError, http.client.HTTPException):
        unverified = ssl._create_unverified_context()  # noqa: S323 - it is this machine
        return not ready(http.client.HTTPSConnection("127.0.0.1", port, timeout=SECONDS, context=unverified))


if __name__ == "__main__":
    sys.exit(main())
