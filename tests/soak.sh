#!/usr/bin/env bash
# kill -9 at random moments for as long as you like: tests/soak.sh --minutes N [--seed S]
#
# Prints the seed, with which the same kills can be tried again, and one line a world. Ends with status 1 at the first
# violation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    echo "usage: tests/soak.sh --minutes N [--seed S]" >&2
    exit 2
}

is_number() {
    [[ $1 =~ ^[0-9]+$ ]]
}

minutes='' seed=''
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    is_number "$2" || usage
    case $1 in
        --minutes) minutes=$2 ;;
        --seed) seed=$2 ;;
        *) usage ;;
    esac
    shift 2
done
[ -n "$minutes" ] || usage

export LEVERFRAME_SOAK_MINUTES=$minutes
if [ -n "$seed" ]; then
    export LEVERFRAME_CRASH_SEED=$seed
fi
exec cargo test --locked --test it crash_points::random::soak -- --ignored --exact --nocapture
