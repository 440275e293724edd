use super::*;

#[track_caller]
fn check_kind(kind: Kind, text: &str, secrets: &[&str]) {
    let marked = BTreeSet::from(["x-internal".to_owned()]);
    let found: Vec<&str> = spots(text, kind, &marked)
        .into_iter()
        .map(|range| &text[range])
        .collect();
    assert_eq!(found, secrets, "{text}");
}

/// What is found in a configuration.
#[track_caller]
fn check(text: &str, secrets: &[&str]) {
    check_kind(Kind::Configuration, text, secrets);
}

#[test]
fn nginx() {
    check(
        "proxy_set_header Authorization \"Basic dXNlcjpw\";",
        &["Basic dXNlcjpw"],
    );
    check("proxy_set_header Authorization Bearer;", &["Bearer"]);
    check("proxy_set_header X-Api-Key abc123;", &["abc123"]);
    check("proxy_set_header Cookie \"sid=1; a=b\";", &["sid=1; a=b"]);
    check("add_header X-Internal hotdog;", &["hotdog"]);
    check("set $api_token abc;", &["abc"]);
    check("secure_link_secret mustard;", &["mustard"]);
    check(
        "if ($http_x_api_key != \"abc123\") { return 403; }",
        &["abc123"],
    );
    check("if ($arg_token = relish) { return 204; }", &["relish"]);
    check("proxy_pass http://app:onions@10.0.0.1;", &["onions"]);
    check("return 200 '{\"password\":\"pickle\"}';", &["pickle"]);
    for harmless in [
        "ssl_certificate_key /etc/ssl/site.key;",
        "ssl_certificate_key {{ key }};",
        "proxy_cache_key $scheme$proxy_host$request_uri;",
        "proxy_set_header Authorization $http_authorization;",
        "server_tokens off;",
        "limit_req_zone $http_x_api_key zone=a:10m rate=1r/s;",
        "proxy_cache_path /c keys_zone=one:10m;",
        "auth_basic \"Secret area\";",
        "auth_basic_user_file /etc/nginx/.htpasswd;",
        "# the password is in the vault",
        "keepalive_timeout 65;",
        "ssl_session_tickets off;",
    ] {
        check(harmless, &[]);
    }
}

#[test]
fn apache_caddy_and_haproxy() {
    check(
        "RequestHeader set Authorization \"Bearer abc\"",
        &["Bearer abc"],
    );
    check("SetEnv DB_PASSWORD mustard", &["mustard"]);
    check("Require expr %{HTTP:X-Api-Key} == 'abc'", &["abc"]);
    check("header_up Authorization \"Bearer {env.TOKEN}\"", &[]);
    check("header_up Authorization \"Bearer abc\"", &["Bearer abc"]);
    check("@in header X-Api-Key abc123", &["abc123"]);
    check(
        "basic_auth {\n\talice $2a$14$Zkx19XLiW6\n}",
        &["$2a$14$Zkx19XLiW6"],
    );
    check("dns cloudflare_api_token {env.CF}", &[]);
    check("  user joe insecure-password mustard", &["mustard"]);
    check(
        "  user ann password $6$k6y3o.eP$JlKBx",
        &["$6$k6y3o.eP$JlKBx"],
    );
    check(
        "http-request set-header Authorization Basic\\ abc",
        &["Basic\\ abc"],
    );
    check("acl ok req.hdr(x-api-key) -m str relish", &["relish"]);
    check("  cookie SRV insert indirect nocache", &[]);
    check("  http-request set-header Cookie sid=1", &["sid=1"]);
    check("ServerTokens Prod", &[]);
}

#[test]
fn yaml_json_and_toml() {
    check(
        "password: mustard and onions # comment\nport: 80\n",
        &["mustard and onions"],
    );
    check("api_key: 'abc'\n", &["abc"]);
    check("auth: { token: abc, user: joe }\n", &["abc"]);
    check(
        "secret: |\n  line one\n  line two\nport: 80\n",
        &["line one\n  line two"],
    );
    check("- key: Authorization\n  value: Basic abc\n", &["Basic abc"]);
    check("- name: DB_PASSWORD\n  value: relish\n", &["relish"]);
    check("- header:\n    key: x-trace\n    value: \"1\"\n", &[]);
    check(
        "{\"key\": \"authorization\", \"value\": \"Basic abc\"}",
        &["Basic abc"],
    );
    check("{\"token\":\"abc\",\"port\":80}", &["abc"]);
    check("{\"tokens\": [\"abc\", \"def\"]}", &["\"abc\", \"def\""]);
    check("{\\\"token\\\":\\\"abc\\\"}", &["abc"]);
    check("token_secret:\n  inline_string: relish\n", &["relish"]);
    check("hmac_secret: { inline_string: \"relish\" }", &["relish"]);
    check("body: { inline_string: \"Hello, world!\" }", &[]);
    check("secret = \"a\\\"b\"\n", &["a\\\"b"]);
    check("password = \"\"\"\na\n\"\"\"", &["\na\n"]);
    check("DB_PASS=mustard\nexport TOKEN=a&b\n", &["mustard", "a&b"]);
    check("url = \"postgres://app:pickle@db/x\"\n", &["pickle"]);
    check("\"Authorization: Bearer abc\"", &["Bearer abc"]);
}

#[test]
fn logs_and_queries() {
    let prose = |text, secrets: &[&str]| check_kind(Kind::Prose, text, secrets);
    prose("127.0.0.1 \"GET /a?token=abc&x=1 HTTP/1.1\" 200", &["abc"]);
    prose("GET /a?page=2&sig=a%20b HTTP/1.1", &["a%20b"]);
    prose("refused token=abc for joe", &["abc"]);
    // The signs behind a URL in a sentence are no part of it.
    prose("http://a/?token=abc: no answer", &["abc"]);
    prose(
        "asked `http://a/?token=abc` and (http://a/?token=abc).",
        &["abc", "abc"],
    );
    prose("GET /?token=[secret-1]: no answer", &[]);
    prose("Authorization: Basic abc", &["Basic abc"]);
    prose("curl -H 'X-Internal: relish' http://a/", &["relish"]);
    prose("{\"Authorization\":[\"Bearer abc\"]}", &["\"Bearer abc\""]);
    prose("the key exchange group and the certificate key differ", &[]);
    prose(
        "password [secret-1]; token=[secret-2]&a=b key: [secret-3]",
        &[],
    );
    let target = |text, secrets: &[&str]| check_kind(Kind::Target, text, secrets);
    target("/a?access_token=abc#x", &["abc"]);
    target("/a;token=abc", &[]);
    target("https://joe:relish@host/", &["relish"]);
}
