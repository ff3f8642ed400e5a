#!/usr/bin/env bash
# Runs the real Claude Code, Codex and Gemini CLI behind the gate of the real daemon: tests/agents.sh [AGENT...]
#
# For each: install, ask, allow, deny, daemon started again and killed while it waits, a gate that hangs, uninstall, and
# `leverframe gate test`. A model of our own on loopback stands in for theirs: no account, no network. Decisions go over
# HTTP. Results: tests/peers/agents/results.json, which tests/write_reliability_report.sh reads. Ends with status 1 where
# a case failed. LEVERFRAME_BINARY names a binary; by default it is the one of `cargo build`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

CI=true tests/peers/install.sh agents
if [ -z "${LEVERFRAME_BINARY:-}" ]; then
    cargo build --locked
    LEVERFRAME_BINARY=target/debug/leverframe
fi
exec python3 tests/peers/agents/run_gate.py "$LEVERFRAME_BINARY" "${LEVERFRAME_PEERS:-target/peers}/agents" "$@"
