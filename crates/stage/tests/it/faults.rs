//! What goes wrong before a server answers: each fault has its own cause and shows the server's
//! message.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::support::{PATIENCE, Theatre, contender, hello};
use bakeoff_plan::{ConfigSource, ServerChoice};
use bakeoff_record::{Step, TrialEnd};
use bakeoff_stage::{Cause, StageError};

/// Long enough for a script to start, short enough to wait for what never comes.
const SHORT: Duration = Duration::from_secs(3);

#[track_caller]
fn fails(theatre: &Theatre, body: &str, within: Duration) -> StageError {
    let error = theatre.start(&theatre.script(body), within).unwrap_err();
    assert_eq!(error.step, Step::Start);
    error
}

#[test]
fn a_server_that_dies_at_once_is_quoted() {
    let theatre = Theatre::new();
    let error = fails(
        &theatre,
        "sys.exit('no such thing as a free lunch')",
        PATIENCE,
    );
    assert!(matches!(*error.cause, Cause::Died { .. }), "{error}");
    assert!(error.to_string().contains("exit code 1"), "{error}");
    assert_eq!(
        error.message.as_deref(),
        Some("no such thing as a free lunch")
    );
}

#[test]
fn a_server_that_never_listens_is_given_up() {
    let theatre = Theatre::new();
    let error = fails(&theatre, "print('thinking')\ntime.sleep(600)", SHORT);
    assert!(
        matches!(*error.cause, Cause::NeverListened { .. }),
        "{error}"
    );
    assert_eq!(error.message.as_deref(), Some("thinking"));
}

#[test]
fn a_server_that_accepts_and_is_silent_is_given_up() {
    let theatre = Theatre::new();
    let body = "
listener = socket.socket()
listener.bind(('127.0.0.1', {{ port }}))
listener.listen(64)
time.sleep(600)";
    let error = fails(&theatre, body, SHORT);
    assert!(
        error.to_string().contains("no answer from 127.0.0.1:"),
        "{error}"
    );
}

#[test]
fn a_wrong_body_shows_both_bodies() {
    let theatre = Theatre::new();
    let error = fails(&theatre, "serve({{ port }}, b'howdy')", SHORT);
    assert!(matches!(*error.cause, Cause::WrongAnswer { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("5 bytes \"hello\""), "{text}");
    assert!(text.contains("5 bytes \"howdy\""), "{text}");
}

/// A server that answers 502 until it has been asked this often.
fn failing(times: u32) -> String {
    format!(
        "
listener = socket.socket()
listener.bind(('127.0.0.1', {{{{ port }}}}))
listener.listen(64)
asked = 0
while True:
    connection, _ = listener.accept()
    while connection.recv(65536):
        asked += 1
        status, body = (502, b'nobody') if asked <= {times} else (200, b'hello')
        head = 'HTTP/1.1 %d Status\\r\\nServer: script\\r\\nContent-Length: %d\\r\\n\\r\\n'
        connection.sendall((head % (status, len(body))).encode() + body)
    connection.close()"
    )
}

#[test]
fn a_web_server_that_goes_on_failing_is_given_up_before_its_time() {
    let theatre = Theatre::new();
    // It would be waited for until the test's own limit.
    let error = fails(&theatre, &failing(u32::MAX), Duration::from_secs(3600));
    let Cause::WrongAnswer { within, got, .. } = &*error.cause else {
        panic!("{error}");
    };
    assert_eq!(*within, Some(Duration::from_secs(3)));
    assert!(got.contains("502"), "{got}");
    let running = theatre.start(&theatre.script(&failing(3)), PATIENCE);
    running.unwrap().stop().unwrap();
}

#[test]
fn another_server_is_not_taken_for_the_contender() {
    let theatre = Theatre::new();
    let error = fails(&theatre, "serve({{ port }}, b'hello', 'impostor')", SHORT);
    assert!(error.to_string().contains("from `impostor`"), "{error}");
}

#[test]
fn a_right_answer_from_a_foreign_process_does_not_count() {
    let theatre = Theatre::new();
    // The listener is this test's own and lies in no tree of the stage.
    let foreign = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = foreign.local_addr().unwrap().port();
    let own = theatre.own_file(&format!("serve({port})"));
    let error = theatre.start(&own, PATIENCE).unwrap_err();
    let owner = format!("process {} (", std::process::id());
    match &*error.cause {
        Cause::PortTaken {
            port: reported,
            owner: named,
        } => {
            assert_eq!(*reported, port);
            assert!(named.starts_with(&owner), "{named}");
        }
        _ => {
            // Python does not name the port, so the stage cannot know whose it is.
            assert!(error.message.unwrap().contains("Address already in use"));
        }
    }
}

/// As a program with file capabilities does, it lets nobody of its user look at it.
#[test]
fn a_server_that_may_not_be_looked_at_says_so_before_its_time() {
    let theatre = Theatre::new();
    let body = "
import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
serve({{ port }})";
    let began = Instant::now();
    match theatre.start(&theatre.script(body), PATIENCE) {
        Err(error) => {
            assert!(matches!(*error.cause, Cause::Hidden { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains("(python3"), "{text}");
            assert!(began.elapsed() < PATIENCE, "it was waited for to the end");
        }
        // Root sees everybody, but not in every container.
        Ok(running) => {
            assert!(rustix::process::geteuid().is_root(), "nobody else may look");
            running.stop().unwrap();
        }
    }
}

#[test]
fn a_taken_port_is_reported_with_its_owner() {
    let theatre = Theatre::new();
    let foreign = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = foreign.local_addr().unwrap().port();
    let text = format!("bind() to 127.0.0.1:{port} failed (98: Address already in use)");
    let own = theatre.own_file(&format!("sys.exit('{text}')"));
    let error = theatre.start(&own, PATIENCE).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(&format!(
            "port {port} is used by process {}",
            std::process::id()
        )),
        "{text}"
    );
}

#[test]
fn a_chosen_port_that_was_taken_meanwhile_is_chosen_again() {
    let theatre = Theatre::new();
    let body = "
marker = '{{ run }}/tried'
if not os.path.exists(marker):
    open(marker, 'w').close()
    sys.exit('bind 127.0.0.1:{{ port }}: address already in use')
serve({{ port }})";
    let running = theatre.start(&theatre.script(body), PATIENCE).unwrap();
    running.stop().unwrap();
}

#[test]
fn a_port_of_the_users_own_is_found() {
    let theatre = Theatre::new();
    let probe = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = probe.local_addr().unwrap().port();
    drop(probe);
    let own = theatre.own_file(&format!("serve({port})"));
    let running = theatre.start(&own, PATIENCE).unwrap();
    assert_eq!(running.address().port(), port);
    assert!(
        running.facts().command.last().unwrap().ends_with("own.py"),
        "read where it is"
    );
    running.stop().unwrap();
}

#[test]
fn a_rejected_configuration_is_quoted() {
    let theatre = Theatre::new();
    let prepared = theatre
        .prepare(&theatre.script("serve({{ port }}"))
        .unwrap();
    let error = prepared.check_config().unwrap_err();
    assert_eq!(error.step, Step::CheckConfig);
    assert!(
        error.message.as_ref().unwrap().contains("SyntaxError"),
        "{error:?}"
    );
    theatre
        .prepare(&theatre.script("serve({{ port }})"))
        .unwrap()
        .check_config()
        .unwrap();
}

#[test]
fn a_template_that_asks_for_what_is_not_there_names_its_line() {
    let theatre = Theatre::new();
    let error = theatre
        .prepare(&theatre.own_file("serve({{ prot }})"))
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("own.py: line "), "{text}");
}

#[test]
fn overlays_must_name_variables() {
    let theatre = Theatre::new();
    let mut script = theatre.script("serve({{ port }}) {{ extra }}");
    script.overlays = vec![("extra".to_owned(), "# more".to_owned())];
    theatre.prepare(&script).unwrap();
    script.overlays = vec![("exrta".to_owned(), String::new())];
    let text = theatre.prepare(&script).unwrap_err().to_string();
    assert!(
        text.contains("`exrta`") && text.contains("`extra`"),
        "{text}"
    );
}

#[test]
fn an_overlay_may_use_what_is_set_for_a_trial() {
    let theatre = Theatre::new();
    let mut script = theatre.script("serve({{ port }}) {{ extra }}");
    script.overlays = vec![("extra".to_owned(), "# {{ protocol }}".to_owned())];
    let prepared = theatre.prepare(&script).unwrap();
    let text = std::fs::read_to_string(prepared.config()).unwrap();
    assert!(text.contains("# h1"), "{text}");
    script.overlays = vec![("extra".to_owned(), "# {{ orgin }}".to_owned())];
    let text = theatre.prepare(&script).unwrap_err().to_string();
    assert!(text.contains("`overlay.extra`"), "{text}");
}

#[test]
fn what_is_missing_is_reported_with_the_way_to_get_it() {
    let theatre = Theatre::new();
    let mut script = theatre.script("serve({{ port }})");
    if let ServerChoice::Program { version, .. } = &mut script.server {
        *version = Some("99.1".to_owned());
    }
    let error = theatre.prepare(&script).unwrap_err();
    assert!(
        matches!(*error.cause, Cause::WrongVersion { .. }),
        "{error}"
    );

    let toml = theatre.folder.path().join("servers/script/server.toml");
    let text = std::fs::read_to_string(&toml).unwrap();
    std::fs::write(
        &toml,
        text.replace("\"python3\"]\nid", "\"no-such-program\"]\nid"),
    )
    .unwrap();
    let error = theatre
        .prepare(&contender(
            "script",
            ConfigSource::Variant("default".to_owned()),
        ))
        .unwrap_err();
    let end = error.trial_end();
    let TrialEnd::Skipped { reason, fix } = end else {
        panic!("{end:?}")
    };
    assert!(
        reason.contains("no `no-such-program` was found"),
        "{reason}"
    );
    assert_eq!(fix, "apt-get install python3");
}

#[test]
fn what_a_server_cannot_do_is_unsupported() {
    let theatre = Theatre::new();
    theatre.script("");
    let variant = |name: &str| contender("script", ConfigSource::Variant(name.to_owned()));
    let end = theatre.prepare(&variant("lazy")).unwrap_err().trial_end();
    assert_eq!(
        end,
        TrialEnd::Unsupported {
            reason: "a script is never lazy".to_owned()
        }
    );
    let error = theatre.prepare(&variant("fast")).unwrap_err();
    assert!(error.to_string().contains("it has `default`"), "{error}");
    let mut other = hello();
    other.template = "other".to_owned();
    let prepared = theatre
        .stage
        .prepare(&variant("default"), &other, &theatre.surroundings());
    assert!(matches!(
        *prepared.unwrap_err().cause,
        Cause::NoTemplate { .. }
    ));
    let mut proxied = hello();
    proxied.proxied = true;
    let prepared = theatre
        .stage
        .prepare(&variant("default"), &proxied, &theatre.surroundings());
    assert!(matches!(
        *prepared.unwrap_err().cause,
        Cause::NoOrigin { .. }
    ));
}

#[test]
fn a_wrong_description_names_the_file_and_the_key() {
    let theatre = Theatre::new();
    let script = theatre.script("");
    let toml = theatre.folder.path().join("servers/script/server.toml");
    let text = std::fs::read_to_string(&toml).unwrap();
    for (from, to, expected) in [
        ("title", "titel", "unknown field `titel`"),
        ("\"TERM\"", "\"TREM\"", "`stop.signal` is `TREM`"),
        (
            "'Python ([0-9.]+)'",
            "'Python ('",
            "`version.pattern` is no pattern",
        ),
        (
            "config = \"main.py\"",
            "config = \"../main.py\"",
            "`config` is `../main.py`",
        ),
        (
            "config = \"main.py\"",
            "config = \"/tmp/main.py\"",
            "`config` is `/tmp/main.py`",
        ),
        (
            "config = \"main.py\"",
            "config = \"server.log\"",
            "none of `run`, `root`,",
        ),
        (
            "hello = \"main.py\"",
            "hello = \"../main.py\"",
            "`templates` has `../main.py`",
        ),
        (
            "\"{{ config }}\"]\n[stop]",
            "\"{{ config }}\"]\nfolders = [\"a/../../b\"]\n[stop]",
            "`start.folders` has `a/../../b`",
        ),
        (
            "[\"python3\"]",
            "[\"../python3\"]",
            "`programs` has `../python3`",
        ),
        (
            "[version]",
            "[[source]]\nkind = \"wheel\"\npackage = \"a\"\nprogram = \"../a\"\n[version]",
            "`../a` leads out of the package's folder",
        ),
        (
            "[version]",
            "[[source]]\nkind = \"apt\"\npackage = \"a/../b\"\n[version]",
            "`package` is no package's name",
        ),
    ] {
        std::fs::write(&toml, text.replace(from, to)).unwrap();
        let message = theatre.prepare(&script).unwrap_err().to_string();
        assert!(
            message.contains("script/server.toml") && message.contains(expected),
            "{message}"
        );
    }
}

#[test]
fn folders_that_a_server_needs_are_there_and_templates_lie_below_its_own() {
    let theatre = Theatre::new();
    let script = theatre.script("serve({{ port }}, b'hello' if os.path.isdir('a/b') else b'none')");
    let folder = theatre.folder.path().join("servers/script");
    let toml = folder.join("server.toml");
    let text = std::fs::read_to_string(&toml).unwrap();
    let from = "\"{{ config }}\"]\n[stop]";
    assert!(text.contains(from));
    let with_folders = text.replace(from, "\"{{ config }}\"]\nfolders = [\"a/b\"]\n[stop]");
    std::fs::write(&toml, with_folders).unwrap();
    theatre.start(&script, PATIENCE).unwrap().stop().unwrap();

    std::fs::write(theatre.folder.path().join("secret"), "secret").unwrap();
    let outside = "{% include '../../secret' %}";
    std::fs::write(folder.join("main.py"), outside).unwrap();
    let message = theatre.prepare(&script).unwrap_err().to_string();
    assert!(message.contains("template not found"), "{message}");
}
