#!/usr/bin/env bash
# Runs all suites and writes tests/RELIABILITY.md from what they recorded: tests/write_reliability_report.sh [--only-write]
#
# --only-write takes what the last `cargo test` of this build recorded. LEVERFRAME_REPORT_PARTIAL=1 leaves out what
# nobody recorded instead of refusing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1-}" in
    '') cargo test --locked --test it ;;
    --only-write) ;;
    *)
        echo "usage: tests/write_reliability_report.sh [--only-write]" >&2
        exit 2
        ;;
esac
LEVERFRAME_WRITE_REPORT=1 cargo test --locked --test it reliability::write::write_report -- --ignored --exact
echo "written: tests/RELIABILITY.md"
