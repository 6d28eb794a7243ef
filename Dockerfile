# agent-memory as a server: REST and MCP on 8005, gRPC on 8006, data in /data. docs/guides/scale.md tells how to run it.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
WORKDIR /src
# What is installed is pinned in requirements, with hashes; only what the server needs of it comes into the image.
COPY requirements/bootstrap.txt requirements/build.in requirements/dev.txt requirements/runtime.txt requirements/
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt \
    && /opt/build/bin/uv pip install --quiet --python /opt/build/bin/python -c requirements/dev.txt -r requirements/build.in
COPY pyproject.toml README.md LICENSE ./
COPY LICENSES LICENSES
COPY src src
RUN /opt/build/bin/uv build --quiet --wheel --no-build-isolation --python /opt/build/bin/python --out-dir /dist \
    && python -m venv --without-pip /opt/agent-memory \
    && /opt/build/bin/uv pip install --quiet --compile-bytecode --only-binary :all: --python /opt/agent-memory/bin/python \
        -c requirements/runtime.txt "agent-memory[server,grpc,mcp,postgres] @ file://$(ls /dist/*.whl)"

FROM python:${PYTHON}-slim
COPY --from=build /opt/agent-memory /opt/agent-memory
COPY deploy/healthy.py /opt/agent-memory/
# A number, so that whoever starts it can see that it is not root; /data belongs to it before it becomes a volume.
RUN install --directory --owner=10001 --group=10001 --mode=0700 /data
ENV PATH=/opt/agent-memory/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OMP_NUM_THREADS=1 \
    HOME=/data \
    AGENT_MEMORY_HOME=/data \
    AGENT_MEMORY_CONFIG=/data/config
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8005 8006
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "/opt/agent-memory/healthy.py"]
ENTRYPOINT ["agent-memory"]
# Inside a container everybody is elsewhere, so it listens on all addresses. It does so only once there is an API key:
# `docker run --rm -v memory:/data agent-memory keys create NAME` makes the first one.
CMD ["serve", "--host", "0.0.0.0"]
