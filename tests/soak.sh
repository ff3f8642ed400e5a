#!/usr/bin/env bash
# Two tests that go on for as long as you like:
#
#   tests/soak.sh --minutes N [--seed S]                  kill -9 at random moments
#   tests/soak.sh --channels [--minutes N] [--rate N]     load and faults on four platforms; 10 minutes, 50 messages/s
#
# The first prints the seed, with which the same kills can be tried again, and one line a world. The second prints what an
# idle daemon costs, how long messages take, and what was lost or doubled. Both end with a status that is not 0 at a
# violation. LEVERFRAME_TEST_BINARY names another build of the daemon.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    sed -n 's/^#   //p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

is_number() {
    [[ $1 =~ ^[0-9]+$ ]]
}

minutes='' seed='' rate='' channels=false
while [ $# -gt 0 ]; do
    if [ "$1" = --channels ]; then
        channels=true
        shift
        continue
    fi
    [ $# -ge 2 ] || usage
    is_number "$2" || usage
    case $1 in
        --minutes) minutes=$2 ;;
        --seed) seed=$2 ;;
        --rate) rate=$2 ;;
        *) usage ;;
    esac
    shift 2
done

if [ "$channels" = true ]; then
    [ -z "$seed" ] || usage
    export LEVERFRAME_SOAK_MINUTES=${minutes:-10} LEVERFRAME_SOAK_RATE=${rate:-50}
    exec cargo test --locked --test it channel_soak::run::soak -- --ignored --exact --nocapture
fi
[ -n "$minutes" ] && [ -z "$rate" ] || usage
export LEVERFRAME_SOAK_MINUTES=$minutes
if [ -n "$seed" ]; then
    export LEVERFRAME_CRASH_SEED=$seed
fi
exec cargo test --locked --test it crash_points::random::soak -- --ignored --exact --nocapture
