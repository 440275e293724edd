//! What a run gives away: secrets stay in its record, texts that act on a terminal reach none, and
//! a path that is no text is refused.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::process::Signal;

use crate::support::files::measured;
use crate::support::scene::Scene;
use crate::support::servers::are_installed;

/// What every planted secret holds.
const PLANTED: &str = "PLANTED";

const NGINX: &str = r#"
events {}
http {
    access_log off;
    include secrets.conf;
    server {
        listen 8080;
        root /var/www/site;
        set $api_token "PLANTED-e2e-token";
        if ($http_x_api_key = "PLANTED-e2e-api-key") { return 204; }
    }
}
"#;

const INCLUDED: &str = "proxy_set_header Authorization \"Basic PLANTED-e2e-included\";\n\
                        # password: PLANTED-e2e-comment\n";

const PLAN: &str = r#"
name = "own"
rounds = 1
rest = "0s"
references = { yardstick = false, origin = false }
[[contender]]
name = "ours"
server = "nginx"
config = "etc/nginx.conf"
replace = [{ from = "/var/www/site", to = "{{ root }}" }]
[[load]]
clients = 3
warmup = "100ms"
duration = "500ms"
timeout = "5s"
[[workload]]
name = "day"
headers = [
    "Authorization: Bearer PLANTED-e2e-header",
    { name = "X-Internal", value = "PLANTED-e2e-marked", secret = true },
]
[workload.replay]
file = "access.log"
format = "combined"
"#;

/// Writes a campaign of nginx with secrets where people have them.
fn with_secrets(scene: &Scene) {
    scene.write("etc/nginx.conf", NGINX);
    scene.write("etc/secrets.conf", INCLUDED);
    let line = "::1 - - [21/Nov/2026:10:00:00 +0000] \"GET /?page=2&token=PLANTED-e2e-query \
                HTTP/1.1\" 200 700 \"-\" \"x\"\n";
    scene.write("access.log", line);
    scene.write("own.toml", PLAN);
}

/// The text of every file below a folder.
fn texts(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        all += &path.display().to_string();
        if path.is_dir() {
            all += &texts(&path);
        } else {
            all += &String::from_utf8_lossy(&std::fs::read(&path).unwrap());
        }
    }
    all
}

#[test]
fn secrets_of_a_run_are_in_its_record_alone() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    with_secrets(&scene);
    let ran = scene.run(&["run", "./own.toml", "--out", "own", "--full"]);
    let ran = ran.expect_measured();
    assert_eq!(measured(&scene.path("own")).len(), 1, "{ran:#?}");
    for printed in [&ran.stdout, &ran.stderr] {
        assert!(!printed.contains(PLANTED), "{printed}");
    }
    let held: Vec<&str> = ran
        .stderr
        .lines()
        .filter(|it| it.contains("the record holds"))
        .collect();
    let [held] = held[..] else {
        panic!("one line says what the record holds: {}", ran.stderr);
    };
    assert!(
        held.contains("2 configuration files (") && held.contains("X-Internal"),
        "{held}"
    );

    let record = std::fs::read_to_string(scene.path("own/trials.jsonl")).unwrap();
    let plan = std::fs::read_to_string(scene.path("own/plan.json")).unwrap();
    for kept in ["token", "api-key", "included", "comment"] {
        assert!(record.contains(&format!("PLANTED-e2e-{kept}")), "{kept}");
    }
    for kept in ["header", "marked", "query"] {
        assert!(plan.contains(&format!("PLANTED-e2e-{kept}")), "{kept}");
    }
    let page = std::fs::read_to_string(scene.path("own/report.html")).unwrap();
    assert!(!page.contains(PLANTED));
    for format in ["text", "md", "csv", "json", "html"] {
        let report = ["report", "own", "--diffs", "--format", format];
        let hidden = scene.run(&report).expect(0).stdout;
        assert!(!hidden.contains(PLANTED), "{format}: {hidden}");
    }
    let shown = ["report", "own", "--format", "json", "--show-secrets"];
    let shown = scene.run(&shown).expect(0).stdout;
    for kept in [
        "token", "api-key", "included", "comment", "header", "marked", "query",
    ] {
        assert!(shown.contains(&format!("PLANTED-e2e-{kept}")), "{kept}");
    }

    scene.run(&["report", "own", "--share", "copy"]).expect(0);
    let copy = texts(&scene.path("copy"));
    for left_out in [PLANTED, "listen 8080", "http_x_api_key", "api_token"] {
        assert!(!copy.contains(left_out), "{left_out} is in the copy");
    }
    let csv = |record| {
        scene
            .run(&["report", record, "--format", "csv"])
            .expect(0)
            .stdout
    };
    assert_eq!(csv("copy"), csv("own"));
    let again = scene.run(&["report", "own", "--share", "copy"]).expect(2);
    again.says("is not empty");
    scene
        .run(&["run", "--resume", "copy"])
        .expect(2)
        .says("shared copy");
}

#[test]
fn debug_shows_a_configuration_without_its_secrets() {
    let scene = Scene::new();
    if !are_installed(&scene, &["nginx"]) {
        return;
    }
    with_secrets(&scene);
    for (flag, is_hidden) in [(None, true), (Some("--show-secrets"), false)] {
        let mut arguments = vec!["debug", "ours", "day", "--plan", "./own.toml"];
        arguments.extend(flag);
        let mut up = scene.start(&arguments);
        up.wait_until("it runs", |it| it.stderr().contains("running; press"));
        up.signal(Signal::INT);
        let reported = up.finish();
        assert!(
            reported.stdout.contains("listen 127.0.0.1:"),
            "{reported:#?}"
        );
        assert_eq!(
            reported.stdout.contains(PLANTED),
            !is_hidden,
            "{reported:#?}"
        );
    }
}

/// What must not reach a terminal: controls but line ends and tabs, marks of direction, what
/// cannot be seen.
fn acts(character: char) -> bool {
    let unseen = "\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{61c}\u{feff}\u{ad}";
    (character.is_control() && !"\n\t".contains(character))
        || unseen.contains(character)
        || ('\u{202a}'..='\u{202e}').contains(&character)
        || ('\u{2066}'..='\u{2069}').contains(&character)
}

const HOSTILE: [&str; 16] = [
    "\u{1b}[31m",
    "\u{1b}]52;c;aGk=\u{7}",
    "\u{1b}]0;title\u{1b}\\",
    "\u{1b}c",
    "\u{9b}2J",
    "\u{9d}52;c;x\u{9c}",
    "\r",
    "\u{8}\u{8}",
    "\u{7f}",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{200b}",
    "\u{feff}",
    "\u{2028}",
    "\u{ad}",
];

#[track_caller]
fn check(scene: &Scene, arguments: &[&str]) {
    let reported = scene.run(arguments);
    assert!(!reported.stderr.contains("panicked"), "{reported:#?}");
    for text in [&reported.stdout, &reported.stderr] {
        let odd = text.chars().find(|one| acts(*one));
        assert_eq!(odd, None, "{arguments:?}: {reported:#?}");
    }
    assert!(
        !(reported.stdout + &reported.stderr).is_empty(),
        "{arguments:?} says something"
    );
}

/// A text in a TOML string: what acts is escaped there, and stands in the value as it is.
fn in_toml(text: &str) -> String {
    let unit = |one: char| format!("\\U{:08x}", u32::from(one));
    let safe = text.chars().map(|one| {
        if acts(one) {
            unit(one)
        } else {
            one.to_string()
        }
    });
    safe.collect::<String>()
        .replace("]0;title\\", "]0;title\\\\")
}

/// A library whose server answers with all of it when it is asked for its version; returns the
/// plan that names it.
fn hostile_library(scene: &Scene, all: &str) -> String {
    let script = format!("#!/bin/sh\nprintf '%s' '1.2{all}'\nprintf '%s' '{all}' >&2\nexit 1\n");
    let program = scene.write("bin/hostile", &script);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, open).unwrap();
    let server = format!(
        "title = \"{0}\"\nprograms = [\"hostile\"]\nconfig = \"main.conf\"\n\
         install = [\"get {0}\"]\n[version]\ncommand = [\"{{{{ binary }}}}\"]\n\
         pattern = '([0-9.]+.*)'\n[start]\ncommand = [\"{{{{ binary }}}}\"]\n\
         [stop]\nsignal = \"TERM\"\ngrace_ms = 1000\n[templates.default]\n\
         synthetic = \"main.conf\"\n",
        in_toml(all)
    );
    scene.write("library/servers/hostile/server.toml", &server);
    scene.write("library/servers/hostile/main.conf", "");
    scene.write(&format!("library/plans/p{all}.toml").replace('/', ""), "");
    format!(
        "name = \"own\"\ndescription = \"{0}\"\nworkloads = [\"w\"]\n\
         references = {{ yardstick = false, origin = false }}\n\
         [[contender]]\nname = \"x\"\nserver = \"hostile\"\n\
         [[load]]\nclients = 1\n[[workload]]\nname = \"w\"\ntemplate = \"synthetic\"\n\
         description = \"{0}\"\nnotes = [\"{0}\"]\n[workload.expect]\ntext = \"{0}\"\n",
        in_toml(all)
    )
}

#[test]
fn hostile_texts_of_files_reach_no_terminal() {
    let scene = Scene::new();
    let all = HOSTILE.concat();
    let plan = hostile_library(&scene, &all);
    scene.write("own.toml", &plan);
    let path = format!("{}:/usr/bin:/bin", scene.path("bin").display());
    for arguments in [
        &["list", "--library", "library"][..],
        &["list", "--library", "library", "--json"],
        &["plan", "./own.toml", "--library", "library"],
        &["run", "./own.toml", "--library", "library"],
        &[
            "debug",
            "x",
            "w",
            "--plan",
            "./own.toml",
            "--library",
            "library",
        ],
    ] {
        let mut command = scene.command(arguments);
        command.env("PATH", &path);
        let reported = scene.start_command(command).finish();
        assert!(!reported.stderr.contains("panicked"), "{reported:#?}");
        for text in [&reported.stdout, &reported.stderr] {
            let odd = text.chars().find(|one| acts(*one));
            assert_eq!(odd, None, "{arguments:?}: {reported:#?}");
        }
        // What names the server or describes the plan came through, in another form.
        let all = reported.stdout + &reported.stderr;
        let came = all.contains("\\u{202e}") || all.contains("\\u202e") || all.contains("hostile");
        assert!(came, "{arguments:?}: {all}");
    }
    // Keys and values that the plan's reader quotes in its messages.
    for (old, new) in [
        ("name = \"x\"", format!("name = \"x{}\"", in_toml(&all))),
        (
            "server = \"hostile\"",
            format!("server = \"{}\"", in_toml(&all)),
        ),
        (
            "workloads = [\"w\"]",
            format!("workloads = [\"{}\"]", in_toml(&all)),
        ),
        ("clients = 1", format!("clients = \"{}\"", in_toml(&all))),
        ("[[load]]", format!("[[load]]\n\"{}\" = 1", in_toml(&all))),
        (
            "name = \"w\"",
            format!("name = \"w\"\nheaders = [\"{}\"]", in_toml(&all)),
        ),
        (
            "name = \"w\"",
            format!("name = \"w\"\npath = \"{}\"", in_toml(&all)),
        ),
        ("name = \"own\"", format!("name = \"own\" {all}")),
    ] {
        scene.write("bad.toml", &plan.replacen(old, &new, 1));
        check(&scene, &["plan", "./bad.toml", "--library", "library"]);
    }
}

#[test]
fn a_path_that_is_no_text_is_refused_or_works() {
    let scene = Scene::new();
    let odd = OsStr::from_bytes(b"re\xff\xfecord");
    let text = crate::support::files::plan(&[("a", "nginx", "default")], "synthetic", "");
    scene.write("own.toml", &text);
    for flags in [
        &["run", "./own.toml", "--out"][..],
        &["run", "--resume"],
        &["list", "--library"],
    ] {
        let mut command = scene.command(flags);
        command.arg(odd);
        let reported = scene.start_command(command).finish();
        let reported = reported.expect(2);
        let absent = reported.stderr.contains("holds no record")
            || reported.stderr.contains("not installed");
        assert!(
            absent || reported.stderr.contains("is not UTF-8"),
            "{flags:?}: {reported:#?}"
        );
    }
    let mut command = scene.command(&["report"]);
    command.arg(odd);
    scene
        .start_command(command)
        .finish()
        .expect(2)
        .says("holds no record");
    let mut command = scene.command(&["plan", "./own.toml"]);
    command.env("TMPDIR", scene.path("tmp").join(odd));
    let reported = scene.start_command(command).finish();
    reported.expect(2).says("is not UTF-8");
    let mut command = scene.command(&[]);
    command.arg(odd);
    scene.start_command(command).finish().expect(2);
}
