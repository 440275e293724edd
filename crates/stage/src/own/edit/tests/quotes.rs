//! Paths in quotes and with blanks that servers read, and statements that share a line.

use super::*;

/// The line of HAProxy stays as it is, but for its address.
#[track_caller]
fn check_kept(line: &str) {
    check("haproxy", line, &line.replace(" :8081", " 127.0.0.1:8081"));
}

#[test]
fn haproxy_reads_files_in_quotes_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, "").unwrap();
        path.display().to_string()
    };
    let (file, plain) = (at("a b.lst"), at("c@d.lst"));
    let escaped = file.replace(' ', "\\ ");
    for word in [
        format!("\"{file}\""),
        format!("'{file}'"),
        escaped,
        plain.clone(),
    ] {
        check_kept(&format!("  bind :8081 ssl crt {word} alpn h2"));
        check_kept(&format!("  bind :8081 ssl crt-list {word} alpn h2"));
        check_kept(&format!("  acl x src -f {word} -f virt@x"));
        check_kept(&format!("  http-request deny if {{ src -f {word} }}"));
        check_kept(&format!("  errorfile 503 {word} # ours"));
    }
    check_kept(&format!(
        "  bind :8081 ssl crt {plain} ca-file \"{file}\" verify none"
    ));
    check_kept(&format!(
        "  use_backend %[req.hdr(host),map(\"{file}\",web)]"
    ));
    check_kept("  use_backend %[req.hdr(host),map(virt@x,web)]");
}

#[test]
fn haproxy_does_without_files_in_quotes_that_are_not_here() {
    check_all(
        "haproxy",
        &[
            (
                "  bind :8081 ssl crt \"/no/a b.pem\" alpn h2",
                "  bind 127.0.0.1:8081 ssl crt /t/trial/tls/both.pem alpn h2",
            ),
            (
                "  bind :8081 ssl crt /no/a\\ b.pem alpn h2",
                "  bind 127.0.0.1:8081 ssl crt /t/trial/tls/both.pem alpn h2",
            ),
            (
                "  bind :8081 ssl crt-list '/no/a b.txt' alpn h2",
                "  bind 127.0.0.1:8081 ssl crt /t/trial/tls/both.pem alpn h2",
            ),
            (
                "  acl x src -f \"/no/a b.lst\" -i",
                "  acl x src -f /dev/null -i",
            ),
            (
                "  acl x src -f /no/a\\ b.lst -i",
                "  acl x src -f /dev/null -i",
            ),
            (
                "  http-request deny if { src -f /no/a }",
                "  http-request deny if { src -f /dev/null }",
            ),
            (
                "  http-request deny if { hdr(a),map('/no/a b',c) -m found }",
                "  http-request deny if { hdr(a),map(/dev/null,c) -m found }",
            ),
            ("  errorfile 503 \"/no/a b\" # ours", ""),
        ],
    );
}

#[test]
fn the_first_line_of_a_section_may_end_with_a_comment() {
    let options = "    no strict-limits\n    ocsp-update.disable on";
    for begin in ["global", "global # ours", "  global\t#"] {
        let text = format!("{begin}\n  maxconn 9\nfrontend f\n  bind :8081 ssl crt-list /no");
        let now = changed_with(&[("version", "3.0")], "haproxy", &text).unwrap();
        let begun = format!("{begin}\n{options}\n  maxconn 9\n");
        assert!(now.starts_with(&begun), "{now}");
    }
}

#[test]
fn statements_of_nginx_that_share_a_line_are_all_changed() {
    check_all(
        "nginx",
        &[
            (
                "ssl_certificate /no/c.pem; ssl_certificate_key /no/k.pem; a;",
                "ssl_certificate \"/t/trial/tls/certificate.pem\"; \
                 ssl_certificate_key \"/t/trial/tls/key.pem\"; a;",
            ),
            (
                "ssl_certificate_key '/no/k k' ;ssl_certificate /no/c.pem;",
                "ssl_certificate_key \"/t/trial/tls/key.pem\";\
                 ssl_certificate \"/t/trial/tls/certificate.pem\";",
            ),
            (
                "a { ssl_dhparam /no/a; ssl_crl /no/b; ssl_trusted_certificate /no/c; b; }",
                "a {    b; }",
            ),
            ("load_module /no/a.so; load_module /no/b.so;", ""),
            ("load_module modules/a; load_module modules/b;", ""),
        ],
    );
}
