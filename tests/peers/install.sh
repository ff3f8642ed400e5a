#!/usr/bin/env bash
# Installs the third-party programs that some tests talk to. Without its peer a test fails in CI; elsewhere it says so.
#
#   tests/peers/install.sh            those that every run of the tests should have
#   tests/peers/install.sh litellm    only this one (742 MB; one to six minutes)
#
# Target: $LEVERFRAME_PEERS, by default target/peers. Running it again changes nothing.
# Where a registry cannot be reached it says so: it fails in CI (CI=true) and goes on elsewhere.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
peers=${LEVERFRAME_PEERS:-$root/target/peers}

skipped() {
    printf '\n!!! SKIPPED: %s: %s\n!!! Tests that need it will not check anything.\n\n' "$1" "$2" >&2
    if [ "${CI:-false}" != false ]; then
        exit 1
    fi
}

# A mock of model servers, six wire formats on one port (npm, exact version and digest in the lock file).
install_aimock() {
    local source=$here/aimock target=$peers/aimock
    if [ -f "$target/node_modules/@copilotkit/aimock/dist/cli.js" ] &&
        cmp -s "$source/package-lock.json" "$target/package-lock.json"; then
        echo "aimock: already installed"
        return 0
    fi
    if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
        skipped aimock "node and npm are not installed"
        return 0
    fi
    # Built beside the target and moved in whole, so an interrupted run leaves no half peer.
    local fresh=$peers/.aimock.$$
    rm -rf "$fresh"
    mkdir -p "$fresh"
    cp "$source/package.json" "$source/package-lock.json" "$source/.npmrc" "$fresh/"
    if ! (cd "$fresh" && npm ci --omit=dev --omit=peer --loglevel=error); then
        rm -rf "$fresh"
        skipped aimock "npm ci failed (is the npm registry reachable?)"
        return 0
    fi
    rm -rf "$target"
    mv "$fresh" "$target"
    echo "aimock: installed"
}

# python-telegram-bot: an independent client that checks our fake platform.
install_telegram_client() {
    local source=$here/telegram_client target=$peers/telegram_client
    if [ -x "$target/bin/python" ] && cmp -s "$source/requirements.txt" "$target/installed.txt"; then
        echo "telegram_client: already installed"
        return 0
    fi
    if ! command -v python3 >/dev/null; then
        skipped telegram_client "python3 is not installed"
        return 0
    fi
    if python3 -m venv "$target" &&
        "$target/bin/pip" install --quiet --disable-pip-version-check -r "$source/requirements.txt"; then
        cp "$source/requirements.txt" "$target/installed.txt"
        echo "telegram_client: installed"
    else
        rm -rf "$target"
        skipped telegram_client "venv or pip failed (is the Python registry reachable?)"
    fi
}

# litellm's proxy: translates between wire formats (117 packages with exact versions, 742 MB).
install_litellm() {
    local source=$here/litellm target=$peers/litellm
    if [ -x "$target/bin/litellm" ] && cmp -s "$source/requirements.txt" "$target/installed.txt"; then
        echo "litellm: already installed"
        return 0
    fi
    if ! command -v python3 >/dev/null; then
        skipped litellm "python3 is not installed"
        return 0
    fi
    rm -rf "$target"
    if python3 -m venv "$target" &&
        "$target/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$source/requirements.txt"; then
        # Last, so that an interrupted run is not taken for a whole one.
        cp "$source/requirements.txt" "$target/installed.txt"
        echo "litellm: installed"
    else
        rm -rf "$target"
        skipped litellm "venv or pip failed (is the Python registry reachable?)"
    fi
}

main() {
    mkdir -p "$peers"
    if [ $# -eq 0 ]; then
        set -- aimock telegram_client
    fi
    local peer
    for peer in "$@"; do
        if ! declare -F "install_$peer" >/dev/null; then
            echo "unknown peer: $peer" >&2
            exit 2
        fi
        "install_$peer"
    done
}

main "$@"
