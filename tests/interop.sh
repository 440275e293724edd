#!/bin/sh
# Asks every server of HTTP/2 and HTTP/3 that is here for N pages over TLS, in the clear and over
# QUIC, compares each body byte by byte, and prints a table:
#   tests/interop.sh [N]
# nginx-1.28 is an nginx with HTTP/3, as `bakeoff install nginx@1.28` names it. BAKEOFF names the
# program, BAKEOFF_PROGRAMS a folder with more servers, INTEROP the servers that are asked (all).
# Each server runs alone with a small configuration of its own and is ended by its
# pid. Leaves with 1 if a request came out wrong, and says which server is not here.
set -eu
count=${1:-100000}
here=$(cd "$(dirname "$0")/.." && pwd)
bakeoff=${BAKEOFF:-$here/target/work/bakeoff}
servers=${INTEROP:-nginx nginx-1.28 caddy envoy traefik haproxy h2o apache nghttpd}
programs=${BAKEOFF_PROGRAMS:-$here/.bench/programs}
PATH=$PATH:$programs:$programs/bin:/usr/sbin:/sbin
scene=$(mktemp -d)
chmod 755 "$scene"
pid=
behind=
wrong=0

stop() {
    for each in $pid $behind; do
        kill -TERM "$each" 2>/dev/null || true
        wait "$each" 2>/dev/null || true
    done
    pid=
    behind=
}
trap 'stop; rm -rf "$scene"' EXIT
trap 'exit 130' INT TERM

# Two ports that are free: both sockets are open before one is closed, so they differ.
ports() {
    python3 -c 'import socket
both = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(each.getsockname()[1] for each in both))'
}

# configure SERVER: reads its configuration with @PLAIN@, @SECURE@ and @SCENE@ filled in.
configure() {
    sed "s/@PLAIN@/$plain/g; s/@SECURE@/$secure/g; s|@SCENE@|$scene|g
        s|@TYPES@|type.googleapis.com/envoy.extensions|g" >"$scene/$1.conf"
}

run() {
    "$@" >"$scene/log" 2>&1 </dev/null &
    pid=$!
}

# run_nginx PROGRAM LISTEN: an nginx that listens as these directives say.
run_nginx() {
    sed "s/@LISTEN@/$2/" <<'END' | configure nginx
daemon off; pid @SCENE@/nginx.pid; error_log stderr error; worker_processes 1;
events { worker_connections 1024; }
http {
    access_log off; types { } default_type text/plain;
    client_body_temp_path @SCENE@/t1; proxy_temp_path @SCENE@/t2; fastcgi_temp_path @SCENE@/t3;
    uwsgi_temp_path @SCENE@/t4; scgi_temp_path @SCENE@/t5;
    ssl_certificate @SCENE@/server.pem; ssl_certificate_key @SCENE@/server.key;
    server {
        @LISTEN@
        root @SCENE@/pages;
    }
}
END
    run "$1" -e stderr -p "$scene" -c "$scene/nginx.conf"
}

start_nginx() {
    run_nginx nginx 'listen 127.0.0.1:@PLAIN@ http2; listen 127.0.0.1:@SECURE@ ssl http2;'
}

start_nginx_1_28() {
    run_nginx nginx-1.28 'listen 127.0.0.1:@SECURE@ quic reuseport;'
}

start_caddy() {
    configure caddy <<'END'
{
    admin off
    persist_config off
    storage file_system @SCENE@/caddy
    auto_https off
    default_bind 127.0.0.1
    servers {
        protocols h1 h2 h2c h3
    }
}
(pages) {
    root * @SCENE@/pages
    file_server
}
http://127.0.0.1:@PLAIN@ {
    import pages
}
https://127.0.0.1:@SECURE@ {
    tls @SCENE@/server.pem @SCENE@/server.key
    import pages
}
END
    run caddy run --adapter caddyfile --config "$scene/caddy.conf"
}

start_envoy() {
    configure envoy <<'END'
static_resources:
  listeners:
  - name: quic
    address: { socket_address: { protocol: UDP, address: 127.0.0.1, port_value: @SECURE@ } }
    udp_listener_config: { quic_options: {} }
    filter_chains:
    - transport_socket:
        name: envoy.transport_sockets.quic
        typed_config:
          "@type": @TYPES@.transport_sockets.quic.v3.QuicDownstreamTransport
          downstream_tls_context:
            common_tls_context:
              tls_certificates:
              - certificate_chain: { filename: "@SCENE@/server.pem" }
                private_key: { filename: "@SCENE@/server.key" }
      filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": @TYPES@.filters.network.http_connection_manager.v3.HttpConnectionManager
          codec_type: HTTP3
          stat_prefix: quic
          route_config:
            max_direct_response_body_size_bytes: 65536
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: { prefix: "/" }
                direct_response: { status: 200, body: { filename: "@SCENE@/pages/page" } }
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              "@type": @TYPES@.filters.http.router.v3.Router
END
    cp "$scene/envoy.conf" "$scene/envoy.yaml"
    run envoy --disable-hot-restart --concurrency 1 --log-level error -c "$scene/envoy.yaml"
}

# It has no files of its own: nginx is behind it.
start_traefik() {
    configure behind <<'END'
daemon off; pid @SCENE@/nginx.pid; error_log stderr error; worker_processes 1;
events { worker_connections 1024; }
http {
    access_log off; types { } default_type text/plain;
    client_body_temp_path @SCENE@/t1; proxy_temp_path @SCENE@/t2; fastcgi_temp_path @SCENE@/t3;
    uwsgi_temp_path @SCENE@/t4; scgi_temp_path @SCENE@/t5;
    server { listen 127.0.0.1:@PLAIN@; root @SCENE@/pages; }
}
END
    run nginx -e stderr -p "$scene" -c "$scene/behind.conf"
    behind=$pid
    configure routes <<'END'
[http.routers.all]
rule = "PathPrefix(`/`)"
service = "page"
[http.routers.all.tls]
[[http.services.page.loadBalancer.servers]]
url = "http://127.0.0.1:@PLAIN@"
[tls.stores.default.defaultCertificate]
certFile = "@SCENE@/server.pem"
keyFile = "@SCENE@/server.key"
END
    mv "$scene/routes.conf" "$scene/routes.toml"
    configure traefik <<'END'
[global]
checkNewVersion = false
sendAnonymousUsage = false
[entryPoints.site]
address = "127.0.0.1:@SECURE@"
[entryPoints.site.http3]
[providers.file]
filename = "@SCENE@/routes.toml"
END
    mv "$scene/traefik.conf" "$scene/traefik.toml"
    run traefik --configFile="$scene/traefik.toml"
}

start_haproxy() {
    configure haproxy <<'END'
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend site
    bind 127.0.0.1:@PLAIN@ proto h2
    bind 127.0.0.1:@SECURE@ ssl crt @SCENE@/both.pem alpn h2
    http-request return status 200 content-type text/plain file @SCENE@/pages/page
END
    run haproxy -db -f "$scene/haproxy.conf"
}

start_h2o() {
    configure h2o <<'END'
listen: { host: 127.0.0.1, port: @PLAIN@ }
listen:
  host: 127.0.0.1
  port: @SECURE@
  ssl: { certificate-file: "@SCENE@/server.pem", key-file: "@SCENE@/server.key" }
num-threads: 1
temp-buffer-path: "@SCENE@"
hosts:
  default:
    paths: { "/": { file.dir: "@SCENE@/pages" } }
END
    if [ "$(id -u)" -eq 0 ]; then echo 'user: root' >>"$scene/h2o.conf"; fi
    run h2o -m worker -c "$scene/h2o.conf"
}

start_apache() {
    configure apache <<'END'
ServerRoot @SCENE@
DefaultRuntimeDir @SCENE@
PidFile @SCENE@/apache.pid
ErrorLog /dev/stderr
LogLevel error
ServerName localhost
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
Listen 127.0.0.1:@PLAIN@
Listen 127.0.0.1:@SECURE@
DocumentRoot @SCENE@/pages
<VirtualHost 127.0.0.1:@PLAIN@>
    Protocols h2c
</VirtualHost>
<VirtualHost 127.0.0.1:@SECURE@>
    Protocols h2
    SSLEngine on
    SSLCertificateFile @SCENE@/server.pem
    SSLCertificateKeyFile @SCENE@/server.key
</VirtualHost>
END
    if [ "$(id -u)" -eq 0 ]; then
        printf 'User #65534\nGroup #65534\n' >>"$scene/apache.conf"
    fi
    run apache2 -X -f "$scene/apache.conf"
}

# One process for each of its two ports, so one after the other.
start_nghttpd() {
    if [ "$1" = h2 ]; then
        run nghttpd -d "$scene/pages" -a 127.0.0.1 "$secure" "$scene/server.key" \
            "$scene/server.pem"
    else
        run nghttpd --no-tls -d "$scene/pages" -a 127.0.0.1 "$plain"
    fi
}

version() {
    case $1 in
        nginx | nginx-1.28) "$1" -v 2>&1 | sed 's|.*/||' ;;
        envoy) envoy --version | sed -n 's|.*/\([0-9.]*\)/.*|\1|p' ;;
        traefik) traefik version | sed -n 's/^Version: *//p' ;;
        caddy) caddy version | cut -d' ' -f1 ;;
        haproxy) haproxy -v | sed -n 's/.*version \([0-9.]*\).*/\1/p' | head -n 1 ;;
        h2o) h2o --version | sed -n 's/.*version \([^ ]*\).*/\1/p' | head -n 1 ;;
        apache) apache2 -v | sed -n 's|.*Apache/\([0-9.]*\).*|\1|p' ;;
        nghttpd) nghttpd --version | sed 's|.*/||' ;;
    esac
}

load() {
    "$bakeoff" load "$1" --protocol "$2" -k -c 10 -m 20 --expect-body "$scene/pages/page" \
        --check-every-body --json --timeout 30s "$3" "$4"
}

# ask SERVER PROTOCOL URL: a line of the table.
ask() {
    tries=0
    until load "$3" "$2" -n 1 2>"$scene/said" | grep -q '"ok": 1,'; do
        tries=$((tries + 1))
        if [ $tries -ge 100 ] || ! kill -0 "$pid" 2>/dev/null; then
            echo "$1 does not answer over $2" >&2
            cat "$scene/said" "$scene/log" >&2
            wrong=1
            return 0
        fi
        sleep 0.1
    done
    load "$3" "$2" -n "$count" >"$scene/result"
    python3 - "$1" "$(version "$1")" "$count" "$scene/result" <<'END' || wrong=1
import json, sys
server, version, count, path = sys.argv[1:]
told = json.load(open(path))
ok, links = told["requests"]["ok"], told["connections"]
bad = {name: n for name, n in told["outcomes"].items() if n and name != "ok"}
print(f'{server:10} {version:10} {told["negotiated"]["protocol"]:4} {ok:8} '
      f'{sum(bad.values()):7} {told["bodies_checked"]:8} {links["opened"]:7} '
      f'{links["goaways"]:8} {links["streams_withdrawn"]:9}', flush=True)
for name, words in told["error_samples"].items():
    print(f"  {bad.get(name, 0)} {name}: {words}")
right = ok == told["requests"]["started"] == told["bodies_checked"] == int(count)
sys.exit(not right or bool(bad))
END
}

mkdir "$scene/pages"
python3 -c 'import random; random.seed(1)
print("".join(random.choices("abcdefghijklmnopqrstuvwxyz ", k=9_999)))' >"$scene/pages/page"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=IP:127.0.0.1 -keyout "$scene/server.key" -out "$scene/server.pem" \
    2>/dev/null
cat "$scene/server.pem" "$scene/server.key" >"$scene/both.pem"

echo 'server     version    over       ok  errors   bodies  opened  goaways withdrawn'
for server in $servers; do
    program=$server
    if [ "$server" = apache ]; then program=apache2; fi
    if ! command -v "$program" >/dev/null; then
        echo "$server   not here"
        continue
    fi
    chosen=$(ports)
    plain=${chosen% *}
    secure=${chosen#* }
    case $server in
        nginx-1.28 | envoy | traefik) protocols=h3 ;;
        caddy) protocols='h2 h2c h3' ;;
        *) protocols='h2 h2c' ;;
    esac
    for protocol in $protocols; do
        if [ -z "$pid" ]; then "start_$(printf %s "$server" | tr .- __)" "$protocol"; fi
        case $protocol in
            h3) ask "$server" h3 "https://127.0.0.1:$secure/page" ;;
            h2) ask "$server" h2 "https://127.0.0.1:$secure/page" ;;
            h2c) ask "$server" h2c "http://127.0.0.1:$plain/page" ;;
        esac
        if [ "$server" = nghttpd ]; then stop; fi
    done
    stop
done
exit $wrong
