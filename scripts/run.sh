#!/bin/sh
# `make run`: show the demo, then serve its story, under the user whom it is about, until Ctrl-C. The store is deleted
# at the end: your own memories are neither shown nor touched.
set -eu

is_port() { case $1 in '' | *[!0-9]* | ??????*) return 1 ;; esac; [ "$1" -ge 1 ] && [ "$1" -le 65535 ]; }

program=$1 port=$2
is_port "$port" || { echo "PORT=$port is not a port: use a number from 1 to 65534, such as make run PORT=8005" >&2; exit 2; }
grpc_port=${3:-$((port + 1))}
is_port "$grpc_port" || { echo "GRPC_PORT=$grpc_port is not a port: use a number from 1 to 65535" >&2; exit 2; }
"${program%/*}/python" - "$port" "$grpc_port" <<'EOF' || exit 2
import socket, sys
for port in sys.argv[1:]:
    try:
        socket.create_server(("127.0.0.1", int(port))).close()
    except OSError as error:
        why = error.strerror.partition(" (")[0].lower()
        sys.exit(f"port {port} cannot be used ({why}): choose another one, such as make run PORT=9005")
EOF

folder=$(mktemp -d "${TMPDIR:-/tmp}/agent-memory-run-XXXXXX")
server=
trap 'rm -rf "$folder"' EXIT
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || :' INT TERM
"$program" demo --keep "$folder/story.db"
echo "In another terminal:  curl -s 'localhost:$port/memory/retrieve?q=what+runs+on+staging&k=3'"
"$program" --store "$folder/story.db" --user mira serve --port "$port" --grpc-port "$grpc_port" &
server=$!
while ! wait "$server" && kill -0 "$server" 2>/dev/null; do :; done # a signal ends `wait`, and not the server at once
