#!/usr/bin/env bash
# Runs a program in a root that holds nothing but it and nginx, in namespaces of its own:
#   packaging/empty-root.sh PROGRAM ROOT ARGUMENT...
# Nothing is in ROOT but the program, nginx with its libraries, two users and an empty /tmp: what
# works there needs no other file of this machine. Needs root, and makes ROOT anew.
set -euo pipefail
program=$(realpath "$1") root=$2
shift 2
if [ -e "$root" ]; then
    echo "$root is there already; name a folder that is not" >&2
    exit 2
fi
mkdir -p "$root"/{bin,dev,etc,proc,sys,tmp,usr/sbin,var/lib/nginx,var/log/nginx,work}
chmod 1777 "$root/tmp"
install -m 755 "$program" "$root/bin/bakeoff"
nginx=$(PATH=$PATH:/usr/sbin command -v nginx)
install -m 755 "$nginx" "$root/usr/sbin/nginx"
# What the loader takes; a static program has none.
for file in "$program" "$nginx"; do
    for library in $(ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true); do
        mkdir -p "$root$(dirname "$library")"
        cp -nL "$library" "$root$library"
    done
done
printf 'root:x:0:0::/:/bin/false\nnobody:x:65534:65534::/:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
chroot=$(PATH=$PATH:/usr/sbin:/sbin command -v chroot)
export root chroot
exec unshare --mount --pid --fork --kill-child bash -c '
    set -euo pipefail
    mount --make-rprivate /
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    for device in null zero urandom random; do
        touch "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    cd "$root/work"
    exec env -i HOME=/work TMPDIR=/tmp PATH=/bin:/usr/sbin "$chroot" "$root" /bin/bakeoff "$@"
' bash "$@"
