#!/bin/sh
# Builds the real Ollama once, into the folder that is named: bin/ollama. Needs Go, a C++ compiler and two packages of headers.
# Its Go module leaves out every folder named `vendor`, and with them three libraries of headers: they come from the
# system and, miniaudio, from another Go module.
set -eu
into=$1
version=v0.17.4
audio=github.com/gen2brain/malgo@v0.11.24

missing=
command -v go >/dev/null || missing="$missing golang"
command -v g++ >/dev/null || missing="$missing g++"
test -d /usr/include/nlohmann || missing="$missing nlohmann-json3-dev"
test -d /usr/include/stb || missing="$missing libstb-dev"
if test -n "$missing"; then
    echo "make models builds Ollama, and that needs:$missing" >&2
    echo "on Debian and Ubuntu: apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi

mkdir -p "$into/include/miniaudio" "$into/bin"
ln -sfn /usr/include/nlohmann "$into/include/nlohmann"
ln -sfn /usr/include/stb "$into/include/stb"
module=$(cd "$into" && go mod download -json "$audio" | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p')
cp -f "$module/miniaudio.h" "$into/include/miniaudio/"
echo "building Ollama $version: some minutes, once …"
CGO_CPPFLAGS="-I$into/include" GOBIN="$into/bin" go install "github.com/ollama/ollama@$version"
