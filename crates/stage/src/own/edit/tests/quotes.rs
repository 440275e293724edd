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

/// What a line is in a trial, where relative paths lead from a folder to this file.
#[track_caller]
fn check_mapped(folder: &str, file: &str, lines: &[&str]) {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join(folder).join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "").unwrap();
    // Of the tests' files relative paths begin in /etc.
    let relative = format!("..{}", path.display());
    for line in lines {
        let with = |path: String| {
            if line.contains("\"@") || path.contains(' ') {
                line.replace("\"@\"", "@")
                    .replace('@', &format!("\"{path}\""))
            } else {
                line.replace('@', &path)
            }
        };
        let escaped = relative.replace(' ', "\\ ");
        let text = line
            .replace("\"@\"", &format!("\"{relative}\""))
            .replace('@', &escaped);
        check("haproxy", &text, &with(format!("/etc/{relative}")));
    }
}

#[test]
fn haproxy_takes_what_it_answers_from_beside_the_file() {
    let lines = [
        "  http-request return status 200 content-type \"text/html\" file @ if { path / }",
        "  http-request return status 200 content-type text/html lf-file @",
        "  http-request return content-type text/html file \"@\" hdr x \"a file b\"",
        "  http-request deny deny_status 429 errorfile @ if { src 1.2.3.4 }",
        "  http-response return status 503 file @",
        "  http-error status 404 content-type text/html file @",
        "  errorfile 503 @",
        "  acl x src -f @",
        "  lua-load @",
    ];
    check_mapped("errors", "503.http", &lines);
    check_mapped("my errors", "503.http", &lines[..3]);
    for line in [
        "  http-request return status 200 content-type text/plain string \"the file passwd\"",
        "  http-request return status 200 content-type text/html file errors/none.html",
        "  http-request return status 200 content-type text/html file /etc/passwd",
    ] {
        check("haproxy", line, line);
    }
}

#[test]
fn haproxy_finds_certificates_below_a_relative_folder() {
    let here = tempfile::tempdir().unwrap();
    let folder = format!("..{}", here.path().display());
    std::fs::write(here.path().join("a.pem"), "").unwrap();
    let text = format!("  crt-base {folder}\n  bind :8081 ssl crt a.pem");
    let now = changed("haproxy", &text).unwrap();
    let expected =
        format!("  crt-base /etc/{folder}\n  bind 127.0.0.1:8081 ssl crt /etc/{folder}/a.pem\n");
    assert_eq!(now, expected);
}

#[test]
fn haproxy_begins_relative_paths_where_the_file_says() {
    for (line, expected) in [
        (
            "default-path config",
            "default-path origin \"/t/trial/own/etc\"",
        ),
        (
            "  default-path parent # a",
            "  default-path origin \"/t/trial/own/etc\" # a",
        ),
        (
            "default-path origin \"/a b\"",
            "default-path origin \"/t/trial/own/etc\"",
        ),
    ] {
        check("haproxy", line, expected);
    }
    let twice = "global\n default-path config\n default-path origin /a";
    let refused = changed("haproxy", twice).unwrap_err();
    assert!(
        refused.contains("line 2: ") && refused.contains("write it once"),
        "{refused}"
    );
    let again = "global\n default-path config\n default-path config";
    changed("haproxy", again).unwrap();
    // It is said where a file names others, which bakeoff does not read.
    let text = "global\nfrontend f\n filter spoe engine e config e.conf";
    let now = changed_with(&[("version", "2.4.0")], "haproxy", text).unwrap();
    assert!(
        now.starts_with("global\n    default-path origin \"/t/trial/own/etc\"\nf"),
        "{now}"
    );
    let old = changed_with(&[("version", "2.2.0")], "haproxy", text).unwrap();
    assert!(!old.contains("default-path"), "{old}");
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
    let options = "    default-path origin \"/t/trial/own/etc\"\n    no strict-limits\n    \
                   ocsp-update.disable on";
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
