#!/usr/bin/env bash
# Makes every picture of README.md and of the book anew, from the demo: docs/pictures.sh [BINARY]
#
# Needs tmux and python3. The demo's visitors begin at once; a picture is taken when what it shows is on the screen.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
binary=${1-target/release/leverframe}
[ -x "$binary" ] || {
    echo "$binary is no program: run \`cargo build --release\`, or name another one" >&2
    exit 2
}
home=$(mktemp -d)
server=pictures-$$
pane=demo
tmux=(tmux -L "$server" -f /dev/null)
trap '"${tmux[@]}" kill-server 2>/dev/null || true; rm -rf "$home"' EXIT

# Waits until the screen has these words, at most 60 s.
see() {
    local try
    for try in $(seq 300); do
        if "${tmux[@]}" capture-pane -p -t "$pane" | grep -qF -- "$1"; then
            return 0
        fi
        sleep 0.2
    done
    echo "not on the screen within 60 s (try $try): $1" >&2
    "${tmux[@]}" capture-pane -p -t "$pane" >&2
    return 1
}

# Presses keys, each with time to be read.
press() {
    local key
    for key in "$@"; do
        "${tmux[@]}" send-keys -t "$pane" "$key"
        sleep 0.3
    done
}

take() {
    docs/capture.py -L "$server" "$pane" "docs/src/images/$1.svg"
    echo "docs/src/images/$1.svg"
}

# Starts a demo of this size with these arguments, in place of the one that runs.
begin() {
    local columns=$1 rows=$2
    shift 2
    "${tmux[@]}" kill-session -t "$pane" 2>/dev/null || true
    "${tmux[@]}" new-session -d -s "$pane" -x "$columns" -y "$rows" \
        "env -i HOME=$home PATH=$PATH LANG=C.UTF-8 TERM=xterm-256color COLORTERM=truecolor $PWD/$binary $* --theme dark"
}

begin 120 36 --demo
see "5 need you"
press j
# The whole card is on the screen for a moment, so its keys are armed.
see "a allow once"
sleep 1
take queue
press 2
see "Live"
press j
take live
press enter
see "Session"
take session
press 4
see "Channels"
press j j j j j
take channels
press A j
see "would have"
take autonomy
begin 140 24 --demo --fleet
# Every channel has had a turn and an answer.
see "need you"
press F12
see "Fleet"
sleep 20
press j
take fleet
docs/tour.py "$binary"
