#!/usr/bin/env bash
# Builds the Debian package from the binary of the profile `dist`. Needs cargo-deb.
#
#   packaging/build_deb.sh            builds the binary first
#   packaging/build_deb.sh BINARY     uses this binary
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Limit of the stripped binary, in bytes: 60 MiB. Speed comes before size: optimization level 2 in place of 3 makes the
# binary larger, and the packages that nothing waits for are built for size already. The grammar of shells takes 1.3 MB,
# the colours of code and the pictures take 0.5 MB each. Datasets (Parquet, encodings), shells, Python and skills
# together take 4.5 MB. The Model Context Protocol, both sides and with logins, takes 8.6 MB. Discord, Slack, Matrix,
# webhooks and bridges that are programs have 7 MB.
readonly BINARY_LIMIT=62914560
staged=target/package
rm -rf "$staged"
mkdir -p "$staged/man" "$staged/completions"
if [ $# -gt 0 ]; then
    install -m755 "$1" "$staged/leverframe"
else
    cargo build --profile dist --locked --bin leverframe
    install -m755 "${CARGO_TARGET_DIR:-target}/dist/leverframe" "$staged/leverframe"
fi
program=$staged/leverframe
size=$(wc -c <"$program")
echo "leverframe: $size bytes of at most $BINARY_LIMIT"
if [ "$size" -gt "$BINARY_LIMIT" ]; then
    echo "FAILED: the binary is larger than $BINARY_LIMIT bytes" >&2
    exit 1
fi
"$program" man "$staged/man"
gzip -9n "$staged"/man/*.1
for shell in bash zsh fish; do
    "$program" completions "$shell" >"$staged/completions/$shell"
done
"$program" service install --system --print --program /usr/bin/leverframe >"$staged/leverframe.service"
cargo deb --no-build --no-strip --locked --output "$staged"
