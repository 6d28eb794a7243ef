"""A gRPC client that knows nothing of our code: all it has is an address, and what the server tells about itself."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from patience import PATIENCE

PACKAGE = "agent_memory.v1"


class Foreign:
    def __init__(self, port: int, user: str | None = "ada", token: str | None = None, **metadata: str) -> None:
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.max_receive_message_length", -1)])
        self.database = ProtoReflectionDescriptorDatabase(self.channel)
        self.pool = DescriptorPool(self.database)
        said = {"user": user, **metadata}
        self.metadata = [(f"x-memory-{name}", value) for name, value in said.items() if value is not None]
        if token is not None:
            self.metadata.append(("authorization", f"Bearer {token}"))

    def services(self) -> dict[str, Any]:
        names = [name for name in self.database.get_services() if name.startswith(PACKAGE)]
        return {name: self.pool.FindServiceByName(name) for name in names}

    def methods(self) -> dict[str, Any]:
        return {f"{name}/{one.name}": one for name, service in self.services().items() for one in service.methods}

    def method(self, name: str) -> Any:
        service, _, method = f"{PACKAGE}.{name}".partition("/")
        return self.pool.FindServiceByName(service).FindMethodByName(method)

    def request(self, name: str, said: dict[str, Any]) -> Any:
        kind = message_factory.GetMessageClass(self.method(name).input_type)
        return json_format.ParseDict(said, kind(), descriptor_pool=self.pool)

    def raw(self, name: str, body: bytes, timeout: float = PATIENCE) -> bytes:
        return self.channel.unary_unary(f"/{PACKAGE}.{name}")(body, metadata=self.metadata, timeout=timeout)

    def call(self, name: str, said: dict[str, Any] | None = None, timeout: float = PATIENCE) -> Any:
        """`result` of the answer, as JSON values with our names."""
        method = self.method(name)
        body = self.request(name, said or {}).SerializeToString()
        return self._told(method, self.raw(name, body, timeout)).get("result")

    def stream(self, name: str, said: dict[str, Any] | None = None, timeout: float | None = PATIENCE) -> Any:
        """The running call, and its answers as they come."""
        method = self.method(name)
        begun = self.channel.unary_stream(f"/{PACKAGE}.{name}")(
            self.request(name, said or {}).SerializeToString(), metadata=self.metadata, timeout=timeout
        )
        return begun, (self._told(method, raw).get("result") for raw in begun)

    def send(self, name: str, many: Any) -> Any:
        method = self.method(name)
        bodies = (self.request(name, one).SerializeToString() for one in many)
        raw = self.channel.stream_unary(f"/{PACKAGE}.{name}")(bodies, metadata=self.metadata, timeout=PATIENCE)
        return self._told(method, raw).get("result")

    def _told(self, method: Any, raw: bytes) -> dict[str, Any]:
        answer = message_factory.GetMessageClass(method.output_type).FromString(raw)
        return json_format.MessageToDict(answer, preserving_proto_field_name=True, descriptor_pool=self.pool)

    def close(self) -> None:
        self.channel.close()
