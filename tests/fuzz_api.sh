#!/usr/bin/env bash
# Asks a daemon for everything that its OpenAPI document describes, with good and bad input, and holds every answer to the
# document: status, media type and schema. Takes some minutes; not part of .ci/run.
#
#   tests/fuzz_api.sh [--seed N] [target/debug/leverframe]
#
# Installs schemathesis (PyPI) into $LEVERFRAME_PEERS, by default target/peers. The daemon has a home of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly VERSION=4.32.5
peers=$(realpath -m "${LEVERFRAME_PEERS:-target/peers}")
options=()
if [ "${1:-}" = --seed ]; then
    options+=(--seed "${2:?a number}")
    shift 2
fi
binary=${1:-target/debug/leverframe}
[ -x "$binary" ] || {
    echo "$binary is not there: cargo build" >&2
    exit 2
}
if [ "$(cat "$peers/schemathesis/version" 2>/dev/null)" != "$VERSION" ]; then
    python3 -m venv "$peers/schemathesis"
    "$peers/schemathesis/bin/pip" install --quiet "schemathesis==$VERSION"
    echo "$VERSION" >"$peers/schemathesis/version"
fi

home=$(mktemp -d "${TMPDIR:-/tmp}/lfXXXXXX")
daemon=
end() {
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null || true
        wait "$daemon" || true
    fi
    rm -rf "$home"
}
trap end EXIT
HOME=$home "$binary" --daemon --data-dir "$home/data" --listen 127.0.0.1:0 >"$home/said" 2>"$home/log" &
daemon=$!
for _ in $(seq 600); do
    url=$(sed -n 's/^listening on \(http.*\)$/\1/p' "$home/said")
    [ -z "$url" ] || break
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
done
[ -n "$url" ] || {
    cat "$home/log" >&2
    exit 1
}

# Nobody waits for the end of a turn, and nobody stops the engine for those who come after.
cat >"$home/schemathesis.toml" <<'TOML'
[parameters]
"query.wait" = 0
TOML
# It writes a cache into the folder that it runs in.
cd "$home"
"$peers/schemathesis/bin/schemathesis" --config-file "$home/schemathesis.toml" run "$url/openapi.json" \
    --header "Authorization: Bearer $(cat "$home/data/token")" \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
    --phases coverage,fuzzing,stateful --max-examples 30 --request-timeout 60 \
    --exclude-path /v1/events --exclude-path /v1/emergency-stop "${options[@]}"
kill -0 "$daemon" || {
    echo "the daemon is gone:" >&2
    tail -20 "$home/log" >&2
    exit 1
}
