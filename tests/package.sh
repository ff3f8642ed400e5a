#!/usr/bin/env bash
# Whether the crate builds from its own archive: tests/package.sh
#
# `cargo package` makes the archive of the committed files. This unpacks it into a temporary folder, away from the clone,
# and checks its library and its program there, with the versions of its own Cargo.lock and without the network. Packages
# that the clone has compiled are not compiled again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

TARGET=${CARGO_TARGET_DIR:-$PWD/target}
readonly TARGET
FOLDER=$(mktemp -d)
readonly FOLDER
trap 'rm -rf "$FOLDER"' EXIT

cargo package --locked --offline --no-verify --quiet --target-dir "$FOLDER/target" "$@"
archives=("$FOLDER"/target/package/*.crate)
echo "$(basename "${archives[0]}"): $(wc -c <"${archives[0]}") bytes"
tar -xzf "${archives[0]}" -C "$FOLDER"
cd "$FOLDER"/leverframe-*/
started=$SECONDS
cargo check --locked --offline --target-dir "$TARGET"
echo "it builds from its archive ($((SECONDS - started)) s)"
