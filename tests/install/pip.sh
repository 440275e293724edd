case "$*" in
*zipfile*) mkdir -p "$5/tart.data/scripts" && cp "$4" "$5/tart.data/scripts/tart"; exit ;;
*--version*) echo "pip 1.0"; exit ;;
esac
for word; do
    if [ "$last" = --dest ]; then dest=$word; fi
    last=$word
done
if [ -f "$last" ]; then read -r last _ <"$last"; fi
version=${last#tart-bin==}; version=${version%.\*}
if [ "$version" = tart-bin ]; then version=1.2.10; fi
BEFORE
said=${SAID:-$version}
printf '#!/bin/sh\ncase $1 in --check) echo "checked by $0"; exit 1;; esac\necho tart %s\n' \
    "$said" >"$dest/tart_bin-$version-py3-none-any.whl"
