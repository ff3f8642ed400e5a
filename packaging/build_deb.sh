#!/usr/bin/env bash
# Builds the Debian package from the binary of the profile `dist`. Needs cargo-deb.
#
#   packaging/build_deb.sh            builds the binary first
#   packaging/build_deb.sh BINARY     takes this one
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
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
"$program" man "$staged/man"
gzip -9n "$staged"/man/*.1
for shell in bash zsh fish; do
    "$program" completions "$shell" >"$staged/completions/$shell"
done
"$program" service install --system --print --program /usr/bin/leverframe >"$staged/leverframe.service"
cargo deb --no-build --no-strip --locked --output "$staged"
