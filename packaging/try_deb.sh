#!/usr/bin/env bash
# Installs, upgrades and removes a package in a clean root, and checks the files after each step.
#
#   packaging/try_deb.sh PACKAGE.deb
#
# Needs root, debootstrap and a mirror of Debian. The script removes the root at the end.
set -euo pipefail
package=$(realpath "$1")
root=$(mktemp -d)
cleanup() {
    umount "$root/dev/pts" 2>/dev/null || true
    rm -rf --one-file-system "$root" "$root.log"
}
trap cleanup EXIT
debootstrap --variant=minbase --include=ca-certificates,passwd stable "$root" >"$root.log" 2>&1 || {
    tail -20 "$root.log" >&2
    exit 1
}
install -m644 "$package" "$root/package.deb"
# The same package as a later version.
dpkg-deb -R "$package" "$root/later"
sed -i 's/^Version: .*/Version: 999-1/' "$root/later/DEBIAN/control"
dpkg-deb -Znone -b "$root/later" "$root/later.deb" >/dev/null
rm -rf "$root/later"
mount -t devpts devpts "$root/dev/pts"
inside() { chroot "$root" "$@"; }
there() { [ -e "$root/$1" ] || { echo "missing after $2: $1" >&2; exit 1; }; }
gone() { [ ! -e "$root/$1" ] || { echo "left after $2: $1" >&2; exit 1; }; }

export DEBIAN_FRONTEND=noninteractive
inside apt-get install -y -qq --no-install-recommends /package.deb
for path in usr/bin/leverframe usr/lib/systemd/system/leverframe.service usr/share/man/man1/leverframe.1.gz \
    usr/share/bash-completion/completions/leverframe usr/share/zsh/vendor-completions/_leverframe \
    usr/share/fish/vendor_completions.d/leverframe.fish etc/leverframe; do
    there "$path" installation
done
inside leverframe --version
inside getent passwd leverframe
echo 'instance = "kept"' >"$root/etc/leverframe/config.toml"
install -d "$root/var/lib/leverframe"
echo kept >"$root/var/lib/leverframe/mark"

inside apt-get install -y -qq /later.deb
inside dpkg-query -W leverframe | grep -q 999-1
grep -q kept "$root/etc/leverframe/config.toml" "$root/var/lib/leverframe/mark"
inside apt-get remove -y -qq leverframe
gone usr/bin/leverframe removal
gone usr/lib/systemd/system/leverframe.service removal
grep -q kept "$root/etc/leverframe/config.toml"
inside apt-get purge -y -qq leverframe
there var/lib/leverframe/mark purge
echo "installed, upgraded and removed: data and configuration are still there"
