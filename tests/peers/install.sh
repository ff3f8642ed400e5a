#!/usr/bin/env bash
# Installs the third-party programs that some tests talk to. Without its peer a test fails in CI; elsewhere it says so.
#
#   tests/peers/install.sh            those that every run of the tests should have
#   tests/peers/install.sh litellm    only this one (742 MB; one to six minutes)
#   tests/peers/install.sh agents     only these (908 MB), for tests/agents.sh
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

# Packages of npm, with exact versions and digests in the lock file. The second word is a file that is there afterwards.
install_node() {
    local name=$1 marker=$2 source=$here/$1 target=$peers/$1
    if [ -f "$target/node_modules/$marker" ] && cmp -s "$source/package-lock.json" "$target/package-lock.json"; then
        echo "$name: already installed"
        return 0
    fi
    if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
        skipped "$name" "node and npm are not installed"
        return 0
    fi
    # Built beside the target and moved in whole, so an interrupted run leaves no half peer.
    local fresh=$peers/.$name.$$
    rm -rf "$fresh"
    mkdir -p "$fresh"
    cp "$source/package.json" "$source/package-lock.json" "$source/.npmrc" "$fresh/"
    if ! (cd "$fresh" && npm ci --omit=dev --omit=peer --loglevel=error); then
        rm -rf "$fresh"
        skipped "$name" "npm ci failed (is the npm registry reachable?)"
        return 0
    fi
    rm -rf "$target"
    mv "$fresh" "$target"
    echo "$name: installed"
}

# Python packages with exact versions, in an environment of their own. Further words are options of pip.
install_python() {
    local name=$1 source=$here/$1 target=$peers/$1
    shift
    if [ -x "$target/bin/python" ] && cmp -s "$source/requirements.txt" "$target/installed.txt"; then
        echo "$name: already installed"
        return 0
    fi
    if ! command -v python3 >/dev/null; then
        skipped "$name" "python3 is not installed"
        return 0
    fi
    rm -rf "$target"
    if python3 -m venv "$target" &&
        "$target/bin/pip" install --quiet --disable-pip-version-check "$@" -r "$source/requirements.txt"; then
        # Last, so that an interrupted run is not taken for a whole one.
        cp "$source/requirements.txt" "$target/installed.txt"
        echo "$name: installed"
    else
        rm -rf "$target"
        skipped "$name" "venv or pip failed (is the Python registry reachable?)"
    fi
}

# A mock of model servers, six wire formats on one port.
install_aimock() { install_node aimock @copilotkit/aimock/dist/cli.js; }

# python-telegram-bot: an independent client that checks our fake platform.
install_telegram_client() { install_python telegram_client; }

# discord.py: an independent client that checks our fake Discord.
install_discord_client() { install_python discord_client --no-deps; }
# A Slack on this machine, one program of 91 MB, and Slack's own client library, which checks our fake Slack.
install_local_slack() {
    local program=$peers/local_slack/node_modules/local-slack-linux-x64/bin/local-slack
    install_node local_slack local-slack-linux-x64/bin/local-slack
    # The package forgets that it is a program.
    if [ -f "$program" ]; then
        chmod +x "$program"
    fi
}
install_slack_client() { install_python slack_client; }

# openapi-python-client and openapi-typescript: make clients from our OpenAPI document.
install_openapi_python() { install_python openapi_python --no-deps; }
install_openapi_typescript() { install_node openapi_typescript typescript/bin/tsc; }

# OpenAI's own libraries, as clients of our agents.
install_openai_python() { install_python openai_python --no-deps; }
install_openai_node() { install_node openai_node openai/index.mjs; }

# The Model Context Protocol: its conformance suite with the Node that it needs (22), reference servers, the inspector and
# the TypeScript clients of both eras (290 packages, 350 MB, of which Node is 190).
install_mcp_node() { install_node mcp_node @modelcontextprotocol/conformance/dist/index.js; }

# The same protocol in Python: the SDK, the servers git, time and fetch, and fastmcp (86 packages, 160 MB).
install_mcp_python() { install_python mcp_python --no-deps; }

# Synapse: the reference homeserver of Matrix (58 packages, 240 MB).
install_synapse() { install_python synapse --no-deps; }

# litellm's proxy: translates between wire formats (117 packages, 742 MB).
install_litellm() { install_python litellm --no-deps; }

# Claude Code, Codex and Gemini CLI (11 packages, 908 MB): tests/agents.sh runs them against a model of our own.
install_agents() {
    local programs=$peers/agents/node_modules native
    install_node agents @google/gemini-cli/bundle/gemini.js
    # Its own script would do this: npm runs none here.
    for native in "$programs"/@anthropic-ai/claude-code-*/claude; do
        if [ -x "$native" ]; then
            ln -sf "../${native#"$programs/"}" "$programs/.bin/claude"
        fi
    done
}

main() {
    mkdir -p "$peers"
    if [ $# -eq 0 ]; then
        set -- aimock telegram_client discord_client local_slack slack_client synapse openapi_python openapi_typescript \
            mcp_node mcp_python openai_python openai_node
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
