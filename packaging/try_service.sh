#!/usr/bin/env bash
# Boots systemd in a clean root, runs an installed package as a service, and checks it from start to stop.
#
#   packaging/try_service.sh PACKAGE.deb
#
# Needs root, debootstrap, unshare and nsenter, a kernel that allows user namespaces, and a mirror of Debian. It has
# its own processes, mounts and network, and does not touch this machine's systemd. The script removes the root at the end.
# It takes about three minutes; one of them is the wait for the watchdog.
set -euo pipefail
package=$(realpath "$1")
root=$(mktemp -d)
outer='' inner=''
cleanup() {
    # The whole tree of processes ends with its first one.
    [ -z "$inner" ] || kill -9 "$inner" 2>/dev/null || true
    [ -z "$outer" ] || wait "$outer" 2>/dev/null || true
    rm -rf --one-file-system "$root" "$root.log"
}
trap cleanup EXIT
fail() {
    echo "FAILED: $1" >&2
    tail -n 20 "$root.log" >&2
    [ -z "$inner" ] || inside journalctl -u leverframe --no-pager -n 20 >&2 || true
    exit 1
}

debootstrap --variant=minbase --include=ca-certificates,passwd,systemd,systemd-sysv,dbus,bubblewrap,init-system-helpers \
    stable "$root" >"$root.log" 2>&1 || fail "debootstrap"
install -m644 "$package" "$root/package.deb"
dpkg-deb -R "$package" "$root/later"
sed -i 's/^Version: .*/Version: 999-1/' "$root/later/DEBIAN/control"
dpkg-deb -Znone -b "$root/later" "$root/later.deb" >/dev/null
rm -rf "$root/later"

# The root becomes the root of its namespace: in a plain chroot the kernel allows no user namespace, and the script could
# not test the sandbox.
cat >"$root/boot.sh" <<'BOOT'
set -e
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 none sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for node in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod -m 666 "dev/${node%:*}" c 1 "${node#*:}"
done
mknod -m 666 dev/tty c 5 0
mkdir dev/pts dev/shm oldroot
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
pivot_root . oldroot
cd /
umount -l /oldroot
export container=other
exec /lib/systemd/systemd --show-status=false
BOOT
unshare --fork --pid --mount --uts --ipc --net --cgroup bash "$root/boot.sh" "$root" >>"$root.log" 2>&1 &
outer=$!

inside() {
    timeout 120 nsenter -t "$inner" -m -p -u -i -n -C -r -w "$@"
}
leverframe() {
    inside leverframe --data-dir /var/lib/leverframe "$@"
}
property() {
    inside systemctl show leverframe -p "$1" --value
}
# Waits until a command succeeds, for at most so many seconds.
until_true() {
    local seconds=$1 end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || fail "not within $seconds s: $*"
        sleep 0.2
    done
}
is_booted() {
    inner=$(pgrep -P "$outer") || return 1
    # Its status is not 0 where it says "degraded": a container has no modules to load.
    [[ $(inside systemctl is-system-running) =~ running|degraded ]]
}
is_other_process() {
    local now
    now=$(property MainPID)
    [ "$now" != 0 ] && [ "$now" != "$1" ] && [ "$(property ActiveState)" = active ]
}
said() {
    inside journalctl -u leverframe --no-pager | grep "$1" >/dev/null
}
# A program in the sandbox, run by a turn.
runs_programs() {
    leverframe ask 'TOOL:execute_command{"argv":["sh","-c","echo ran by $(id -un) >> ran.txt"]}
SAY:done' | grep done >/dev/null
}
until_true 60 is_booted

inside dpkg -i /package.deb >>"$root.log" 2>&1 || fail "installation"
[ "$(property ActiveState)" = inactive ] || fail "the installation started it"
cat >"$root/etc/leverframe/config.toml" <<'CONFIG'
[model]
default = "scripted/demo"

[channels.cli]
autonomy = "full"
permanent_full = true
CONFIG
inside systemctl enable --now leverframe || fail "start"
echo "started, as $(property User)"
exposure=$(inside systemd-analyze security leverframe --no-pager | grep -oE 'exposure level .*: [0-9.]+' | grep -oE '[0-9.]+$')
awk -v level="$exposure" 'BEGIN { exit !(level <= 3.0) }' || fail "systemd-analyze security says $exposure"
echo "exposure $exposure of at most 3.0"
leverframe doctor | grep 'sandbox *bubblewrap' >/dev/null || fail "no bubblewrap under the unit: $(leverframe doctor | grep sandbox)"
runs_programs || fail "no program runs"
grep -rq 'ran by leverframe' "$root"/var/lib/leverframe-workspaces "$root"/var/lib/leverframe ||
    fail "the program left no file in a workspace"
echo "a turn runs a program in bubblewrap"

process=$(property MainPID)
inside systemctl kill --kill-whom=main --signal=KILL leverframe
until_true 30 is_other_process "$process"
[ "$(property NRestarts)" -ge 1 ] || fail "no restart is counted"
leverframe sessions list --json | grep '"ses_' >/dev/null || fail "its sessions are gone"
echo "killed: the daemon and its sessions are back"

sed -i 's/autonomy = "full"/autonomy = "supervised"/; /permanent_full/d' "$root/etc/leverframe/config.toml"
inside systemctl reload leverframe
until_true 10 said 'key=channels.cli.autonomy'
echo "reloaded"

process=$(property MainPID)
inside systemctl kill --kill-whom=main --signal=STOP leverframe
until_true 120 is_other_process "$process"
said 'Watchdog timeout' || fail "the journal does not show that the watchdog ended it"
echo "silent: the watchdog restarted it"

process=$(property MainPID)
inside dpkg -i /later.deb >>"$root.log" 2>&1 || fail "upgrade"
until_true 30 is_other_process "$process"
echo "upgraded: the new version runs"

inside systemctl stop leverframe
[ "$(property Result)" = success ] || fail "it did not end with success: $(property Result)"
inside systemctl disable leverframe 2>>"$root.log"
inside dpkg -P leverframe >>"$root.log" 2>&1 || fail "purge"
[ -e "$root/var/lib/leverframe/leverframe.db" ] || fail "the purge took the database"
echo "stopped and removed: the database is still there"
