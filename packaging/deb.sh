#!/usr/bin/env bash
# Makes a Debian package of a static program: packaging/deb.sh PROGRAM ARCHITECTURE SHARE FILE.deb
# SHARE holds man/ and completions/, as `make dist` writes them. Needs dpkg-deb and nothing else; the
# same files give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$1 architecture=$2 share=$3 file=$4
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH=$epoch LC_ALL=C TZ=UTC
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
maintainer=${DEB_MAINTAINER:-bakeoff <bakeoff@localhost>}
date=$(date -u -d "@$epoch" -R)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
install -D -m 755 "$program" "$root/usr/bin/bakeoff"
for page in "$share"/man/*.1; do
    install -d "$root/usr/share/man/man1"
    gzip -9nc "$page" >"$root/usr/share/man/man1/$(basename "$page").gz"
done
install -D -m 644 "$share/completions/bakeoff.bash" \
    "$root/usr/share/bash-completion/completions/bakeoff"
install -D -m 644 "$share/completions/_bakeoff" "$root/usr/share/zsh/vendor-completions/_bakeoff"
install -D -m 644 "$share/completions/bakeoff.fish" \
    "$root/usr/share/fish/vendor_completions.d/bakeoff.fish"
documents=$root/usr/share/doc/bakeoff
install -d "$documents"
{
    echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    echo "Upstream-Name: bakeoff"
    echo
    echo "Files: *"
    echo "Copyright: the authors of bakeoff, and of the crates in bakeoff.cdx.json"
    echo "License: Expat or Apache-2.0"
    echo
    echo "License: Expat"
    sed 's/^$/./; s/^/ /' LICENSE-MIT
    echo
    echo "License: Apache-2.0"
    echo " On Debian systems the text of this licence is in"
    echo " /usr/share/common-licenses/Apache-2.0."
} >"$documents/copyright"
gzip -9nc CHANGELOG.md >"$documents/NEWS.md.gz"
install -m 644 "$share/bakeoff.cdx.json" "$documents/bakeoff.cdx.json"
{
    echo "bakeoff ($version) unstable; urgency=low"
    echo
    echo "  * NEWS.md says what changed."
    echo
    echo " -- $maintainer  $date"
} | gzip -9n >"$documents/changelog.gz"
chmod 644 "$documents"/*
size=$(du -sk --apparent-size "$root" | cut -f1)
install -d "$root/DEBIAN"
# The program is static: it depends on nothing. Which servers are compared is up to the user.
cat >"$root/DEBIAN/control" <<CONTROL
Package: bakeoff
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $size
Section: web
Priority: optional
Suggests: nginx, caddy, haproxy
Description: compare web servers and reverse proxies
 bakeoff loads web servers and reverse proxies on this machine, over HTTP/1.1,
 HTTP/2 and HTTP/3, and says which one is faster, by how much, and how far the
 answer can be trusted. It needs no other files.
CONTROL
find "$root" -exec touch -h -d "@$epoch" {} +
find "$root" -type d -exec chmod 755 {} +
mkdir -p "$(dirname "$file")"
dpkg-deb --root-owner-group -Zxz --build "$root" "$file" >/dev/null
