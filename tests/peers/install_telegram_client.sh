#!/bin/sh
# Installs the independent Telegram client that checks our fake (tests/it/telegram/peer.rs).
# Idempotent. Without Python or a package index it says so loudly and changes nothing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=${LEVERFRAME_PEERS:-"$here/../../target/peers"}
peer="$root/telegram_client"
wanted="$here/telegram_client/requirements.txt"

if [ -x "$peer/bin/python" ] && cmp -s "$wanted" "$peer/installed.txt"; then
    echo "telegram_client: already installed in $peer"
    exit 0
fi
mkdir -p "$root"
if python3 -m venv "$peer" && "$peer/bin/pip" install --quiet --disable-pip-version-check -r "$wanted"; then
    cp "$wanted" "$peer/installed.txt"
    echo "telegram_client: installed in $peer"
else
    rm -rf "$peer"
    echo "SKIPPED: telegram_client could not be installed (python3 with venv and a package index are needed)" >&2
fi
