//! Configurations of HAProxy as people write them.

use std::path::Path;

use bakeoff_plan::Protocol;

use super::*;
use crate::found::ListenerKind;

fn of(text: &str) -> Found {
    let path = Path::new("haproxy.cfg");
    read(&[Text { path, text }])
}

const HTTP: &str = "defaults\n  mode http\n";

/// Port, first name, kind and first protocol of each listener.
#[track_caller]
fn check(text: &str, expected: &[(u16, &str, ListenerKind, Protocol)]) {
    let found = of(&format!("{HTTP}{text}"));
    let rows = found.listeners.iter().map(|it| {
        let host = it.hosts.first().map_or("", String::as_str);
        (it.port.unwrap_or(0), host, it.kind, it.protocols[0])
    });
    assert_eq!(rows.collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn a_listener_is_there_for_what_its_section_does() {
    use ListenerKind::{Aside, Http, Redirect, Tcp};
    use Protocol::{H1, H1Tls, H2, H3};
    check(
        "frontend a\n bind *:80\n default_backend b\n",
        &[(80, "", Http, H1)],
    );
    check(
        "frontend a *:80\n default_backend b\n",
        &[(80, "", Http, H1)],
    );
    check(
        "frontend a\n bind :80\n bind :443 ssl crt /a.pem alpn h2,http/1.1\n \
         redirect scheme https code 301 if !{ ssl_fc }\n default_backend b\n",
        &[(80, "", Redirect, H1), (443, "", Http, H1Tls)],
    );
    check(
        "frontend a\n bind 1.2.3.4:80,[::]:81\n http-request redirect scheme https unless \
         { ssl_fc }\n default_backend b\n",
        &[(80, "", Redirect, H1), (81, "", Redirect, H1)],
    );
    check(
        "frontend a\n bind quic4@:443 ssl crt /a\n bind :443 ssl crt /a alpn h2\n \
         default_backend b\n",
        &[(443, "", Http, H3), (443, "", Http, H2)],
    );
    check(
        "listen stats\n bind :8404\n stats enable\n stats uri /\n",
        &[(8404, "", Aside, H1)],
    );
    check(
        "listen db\n mode tcp\n bind :3306\n server a b:1\n",
        &[(3306, "", Tcp, H1)],
    );
}

#[test]
fn a_name_and_a_path_are_taken_from_the_way_to_a_backend() {
    use ListenerKind::Http;
    use Protocol::H1;
    check(
        "frontend a\n bind :80\n acl app hdr(host) -i app.test b.test\n use_backend b if app\n",
        &[(80, "app.test", Http, H1)],
    );
    check(
        "frontend a\n bind :80\n use_backend c if { src 10.0.0.0/8 }\n \
         use_backend b if { req.hdr(host),lower -m str c.test } !bad\n",
        &[(80, "c.test", Http, H1)],
    );
    // Whatever the name, something answers.
    check(
        "frontend a\n bind :80\n acl app hdr(host) app.test\n use_backend b if app\n \
         default_backend c\n",
        &[(80, "", Http, H1)],
    );
    let found = of(
        "defaults\n mode http\nfrontend a\n bind :80\n acl api path_beg /api\n \
                    use_backend b if api\n",
    );
    assert_eq!(found.path.as_deref(), Some("/api"));
    // What else is answered is known, where the path that is asked is not.
    let found = of(
        "defaults\n mode http\nfrontend a\n bind :80\n acl api path_beg /api\n \
         use_backend b if api\n use_backend b if { path /shop }\n use_backend b if !api\n \
         default_backend c\n",
    );
    assert_eq!(
        (found.path, found.paths),
        (None, vec!["/api".to_owned(), "/shop".to_owned()])
    );
}

#[test]
fn a_balancer_of_tcp_is_a_problem_with_its_line() {
    let found = of(
        "listen galera\n bind :3306\n mode tcp\n server a 10.0.0.1:3306 check\n\
                    listen stats\n mode http\n bind :8404\n stats enable\n",
    );
    assert_eq!(found.problems.len(), 1);
    assert_eq!(found.problems[0].place.line, 3);
    assert_eq!(found.upstreams[0].kind, UpstreamKind::Tcp);
    // The mode is that of the defaults, which is TCP.
    let found = of("defaults\n timeout client 1s\nfrontend k8s\n bind :6443\n default_backend b\n");
    let [problem] = &found.problems[..] else {
        panic!("{found:?}");
    };
    assert_eq!(problem.place.line, 4);
    assert!(problem.what.starts_with("no `mode` is said"));
    let found = of(&format!(
        "{HTTP}frontend a\n bind :80\n default_backend b\n"
    ));
    assert_eq!(found.problems, []);
}

#[test]
fn files_and_variables_are_named_with_their_lines() {
    let found = of("global\n log /dev/log local0\n lua-load /etc/a.lua\n\
                    defaults\n mode http\n errorfile 503 /etc/503.http\n log global\n\
                    frontend a\n bind \"${HOST}:${PORT}\" ssl crt /etc/a.pem crt /etc/b.pem\n\
                    default_backend b\nbackend b\n server x \"${APP}\":80 check\n\
                    server-template w 3 web:80\n # ${NOT}\n");
    let texts = |named: &[Named]| -> Vec<String> {
        named
            .iter()
            .map(|it| format!("{}:{}", it.place.line, it.text))
            .collect()
    };
    assert_eq!(texts(&found.logs), ["2:/dev/log"]);
    assert_eq!(texts(&found.modules), ["3:/etc/a.lua"]);
    assert_eq!(texts(&found.certificates), ["9:/etc/a.pem", "9:/etc/b.pem"]);
    assert_eq!(
        texts(&found.placeholders),
        ["9:${HOST}", "9:${PORT}", "12:${APP}"]
    );
    assert_eq!(found.listeners[0].port, Some(8080));
    assert_eq!(found.upstreams[1].address, "web:80");
}

#[test]
fn any_text_is_read_to_its_end() {
    for text in [
        "",
        "bind :80",
        "listen a b\nbind",
        "frontend a\n acl\n use_backend\n mode\n log\n",
    ] {
        let _ = of(text);
    }
    let _ = of(&format!(
        "{HTTP}frontend a\n{}",
        " bind :1\n acl a path /\n".repeat(50_000)
    ));
}
