"""A server that shows a certificate: REST, MCP and gRPC are encrypted, and clients believe who they are told to."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from grpc_health.v1 import health_pb2, health_pb2_grpc

from agent_memory import AgentMemory
from agent_memory.models.errors import InvalidInput, StoreError
from patience import PATIENCE

PROGRAM = [sys.executable, "-m", "agent_memory.interfaces.cli"]
PRIVATE = serialization.PrivateFormat.PKCS8


@dataclass(frozen=True)
class Files:
    certificate: Path
    key: Path


def written(folder: Path, name: str, password: bytes | None = None) -> Files:
    """A certificate for this machine that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = Files(folder / f"{name}.crt", folder / f"{name}.key")
    files.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    hidden = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    files.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, PRIVATE, hidden))
    return files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return written(tmp_path, "ours")


@pytest.fixture
def where(home: Path, files: Files) -> Iterator[dict[str, str]]:
    """Where a server with that certificate says that everything is."""
    ports = ["--port", "0", "--grpc-port", "0", "--json"]
    shown = ["--tls-cert", str(files.certificate), "--tls-key", str(files.key)]
    process = subprocess.Popen(
        [*PROGRAM, "serve", *ports, *shown], stdout=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert process.stdout is not None
    said = ""
    while not said.endswith("}\n"):
        line = process.stdout.readline()
        assert line, "it did not start"
        said += line
    try:
        yield json.loads(said)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        process.stdout.close()


@pytest.mark.requirement("P23")
def test_every_door_speaks_tls(where: dict[str, str], files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    root = where["rest"].removesuffix("/v1")
    assert root.startswith("https://127.0.0.1:")
    with httpx.Client(verify=ssl.create_default_context(cafile=files.certificate), timeout=PATIENCE) as client:
        assert client.get(f"{root}/readyz").status_code == 200
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        told = client.post(where["mcp"], json=asked, headers={"accept": "application/json, text/event-stream"})
        assert told.json()["result"]["serverInfo"]["name"] == "agent-memory"
    with pytest.raises(httpx.TransportError):
        httpx.get(root.replace("https", "http") + "/healthz", timeout=PATIENCE)

    believed = grpc.ssl_channel_credentials(files.certificate.read_bytes())
    with grpc.secure_channel(where["grpc"], believed) as channel:
        asking = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
        assert asking.status == health_pb2.HealthCheckResponse.SERVING
    with grpc.insecure_channel(where["grpc"]) as channel, pytest.raises(grpc.RpcError):
        health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)

    monkeypatch.setenv("AGENT_MEMORY_CA_FILE", str(files.certificate))
    with AgentMemory("ada", store=root) as memory:
        memory.records.add("encrypted on its way", id="one")
        assert memory.records.get("one").text == "encrypted on its way"


def test_a_certificate_that_nobody_vouches_for_is_not_believed(
    where: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = where["rest"].removesuffix("/v1")
    with pytest.raises(StoreError, match=r"CERTIFICATE_VERIFY_FAILED.*AGENT_MEMORY_CA_FILE"):
        AgentMemory("ada", store=root).records.add("x")
    monkeypatch.setenv("AGENT_MEMORY_CA_FILE", str(written(tmp_path, "other").certificate))
    with pytest.raises(StoreError, match="CERTIFICATE_VERIFY_FAILED"):
        AgentMemory("ada", store=root).records.add("x")
    for unusable in (tmp_path / "nowhere", tmp_path / "other.key"):
        monkeypatch.setenv("AGENT_MEMORY_CA_FILE", str(unusable))
        with pytest.raises(InvalidInput, match=r"ca_file: .* cannot be used") as caught:
            AgentMemory("ada", store=root)
        assert caught.value.field == "ca_file"


def test_files_that_cannot_be_used_are_named_before_anything_listens(
    process: Any, files: Files, tmp_path: Path
) -> None:
    other, hidden = written(tmp_path, "other"), written(tmp_path, "hidden", b"secret")
    nowhere = str(tmp_path / "nowhere")
    good, key = str(files.certificate), str(files.key)
    for cert, secret, said in (
        (good, None, "tls_key: is missing"),
        (None, key, "tls_cert: is missing"),
        (nowhere, key, "tls_cert: .*No such file"),
        (good, nowhere, "tls_key: .*No such file"),
        (good, str(other.key), "KEY_VALUES_MISMATCH"),
        (key, key, "cannot be used"),
        (str(hidden.certificate), str(hidden.key), "without a password"),
    ):
        options = [*(["--tls-cert", cert] if cert else []), *(["--tls-key", secret] if secret else [])]
        ran = process("serve", "--port", "0", *options)
        assert ran.code == 2 and not ran.out and re.search(said, ran.err), (said, ran.err)


def test_it_says_so_when_others_could_read_along(home: Path, files: Files) -> None:
    with AgentMemory("default") as memory:
        memory.keys.create("for the team")
    command = [*PROGRAM, "serve", "--host", "0.0.0.0", "--port", "0", "--no-grpc"]
    shown = ["--tls-cert", str(files.certificate), "--tls-key", str(files.key)]
    for options, warned in (([], True), (shown, False)):
        process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None and "agent-memory serves" in process.stdout.readline()
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE)
        assert (err.count("\n") == 1 and "unencrypted" in err and "--tls-cert" in err) if warned else err == ""
