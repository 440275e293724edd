#!/usr/bin/env bash
# Makes the archive of a release's sources: packaging/source.sh FILE.tar.gz
#
# It is what git has, and the built page of reports, so that building takes no Node.js. The same
# sources give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
file=$(realpath -m "$1")
name=$(basename "$file" .tar.gz)
[ -s web/dist/index.html ] || {
    echo "the page is not built: run \`make page\`, which needs Node.js" >&2
    exit 1
}
mkdir -p "$(dirname "$file")"
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
{
    git ls-files -z
    printf 'web/dist/index.html\0'
} | LC_ALL=C sort -z | tar --create --no-recursion --format=ustar --owner=0 --group=0 \
    --numeric-owner --mode=go=rX,u+rw,a-s --mtime="@$epoch" \
    --transform="flags=r;s,^,$name/," --null --files-from=- | gzip -9n >"$file"
