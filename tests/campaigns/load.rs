//! Command lines of `bakeoff load` and `bakeoff origin` that are refused before anything is sent.

use crate::support::scene::Scene;

/// Each command line is refused with these words, before anything is printed.
#[track_caller]
fn refused(cases: &[(Vec<&str>, &str)]) {
    refused_in(&Scene::new(), cases);
}

#[track_caller]
fn refused_in(scene: &Scene, cases: &[(Vec<&str>, &str)]) {
    for (arguments, words) in cases {
        let finished = scene.run(arguments).expect(2).says(words);
        assert!(finished.stdout.is_empty(), "{finished:#?}");
    }
}

#[test]
fn what_is_no_url_or_no_list_is_refused_with_exit_code_2() {
    let url = "http://127.0.0.1:9/";
    refused(&[
        (
            vec!["load", "example.com"],
            "http://example.com or https://example.com",
        ),
        (vec!["load", "-q", "100", url], "-r 100 for requests/s"),
        (vec!["load", "app:443"], "https://app or http://app:443"),
        (
            vec!["load", url, "http://127.0.0.1:8/"],
            "are on two servers",
        ),
        (vec!["load", url, "--urls", "a"], "cannot be used with"),
        (
            vec!["load", "--urls", "absent"],
            "--urls: failed to read absent: ",
        ),
        (vec!["load", "--urls", "."], "it is a folder"),
        (
            vec!["load", "--har", "absent"],
            "--har: failed to read absent: ",
        ),
    ]);
}

#[test]
fn wrong_flags_are_refused_with_exit_code_2() {
    let url = "http://127.0.0.1:9/";
    refused(&[
        (
            vec!["load", url, "--clients", "0"],
            "'0' for '--clients <N>': expected a whole number from 1 to 1000000",
        ),
        (vec!["load", url, "--rate", "0"], "--rate"),
        (
            vec!["load", url, "--rate", "many"],
            "'many' for '--rate <R>': `many` is not a rate: write 500 or 2.5k",
        ),
        (
            vec!["load", url, "--duration", "0s"],
            "--duration is 0s; expected a longer time",
        ),
        (
            vec!["load", url, "-z", "soon"],
            "-d is the measured time, such as -d 10s; a body is --data TEXT",
        ),
        (
            vec!["load", url, "--timeout", "0s"],
            "--timeout is 0s; expected a longer time",
        ),
        (vec!["load", url, "--requests", "0"], "--requests"),
        (
            vec!["load", url, "--requests", "1.2345k"],
            "'1.2345k' for '--requests <N>': expected a whole number",
        ),
        (
            vec!["load", url, "--weights", "1,2"],
            "--weights has 2 numbers for 1 URLs",
        ),
        (vec!["load", url, "--arrival", "poisson"], "--rate"),
        (vec!["load", url, "-H", "no colon"], "-H 'Name: value'"),
        (vec!["load", url, "--method", "G T"], "G T"),
        (
            vec!["load", url, "--body", "absent"],
            "--body: failed to read absent: ",
        ),
        (vec!["load", url, "--cleints", "5"], "--clients"),
        (vec!["load", url, "--connect", "last"], "as-needed"),
        (
            vec!["load", url, "-r", "5", "--connect", "as-needed"],
            "--rate",
        ),
        (
            vec!["load", url, "--max-udp-payload", "1400"],
            "--protocol h3",
        ),
        (
            vec!["load", url, "--max-udp-payload", "1199"],
            "expected a whole number from 1200 to 65527",
        ),
        (vec!["load", "http://127.0.0.1:99999/"], "99999"),
        (vec!["load", url, "-r", "100000000"], "at most 10,000,000"),
        (vec!["load", url, "--pin", "1000"], "may only use 0"),
        (
            vec!["load", url, "--unix-socket", "/no/such"],
            "the Unix socket /no/such: there is no such file",
        ),
        (vec!["load", url, "--source", "192.0.2.1"], "192.0.2.1"),
        (vec!["load", url, "--source", "::1"], "another family"),
        (vec!["load", url, "--ciphers", "NONSENSE"], "needs TLS"),
        (vec!["load", url, "--groups", "X25519"], "needs TLS"),
        (vec!["load", url, "--tls-version", "1.3"], "needs TLS"),
        (vec!["load", url, "--cacert", "a.pem"], "needs TLS"),
        (vec!["load", url, "--server-name", "a"], "needs TLS"),
    ]);
}

/// What the flags of other tools come to that clap does not see.
#[test]
fn habits_of_other_tools_are_answered() {
    let url = "http://127.0.0.1:9/";
    refused(&[
        (vec!["load"], "a URL is missing: give one"),
        (
            vec!["load", "-z", "3m", "-q", "10", url],
            "-r 10 for requests/s",
        ),
        (
            vec!["load", url, "--body", "{\"a\": 1}"],
            "a text is --data TEXT",
        ),
        (vec!["load", "--http2", url], "for http, use h2c"),
        (
            vec!["load", "-o", "/no/such/file", url],
            "--output: failed to write",
        ),
    ]);
}

#[test]
fn what_to_connect_to_needs_a_port() {
    let load = vec!["load", "http://a.test/", "--connect-to", "localhost"];
    refused(&[(load, "--connect-to \"localhost\" is not HOST:PORT")]);
}

/// The clock had no room for them: the window ended before it began, and nothing was measured.
#[test]
fn times_that_never_end_are_refused() {
    let load = ["load", "http://127.0.0.1:9/"];
    for flag in ["--duration", "--warmup", "--timeout", "--retry-pause"] {
        let words = format!("{flag} is longer than a year");
        refused(&[([&load[..], &[flag, "5124095h"]].concat(), &words)]);
    }
}

/// It was spread over the longest time that a count may take, and ended at the first rate.
#[test]
fn a_rate_that_changes_needs_a_time_beside_a_count() {
    let load = ["load", "http://127.0.0.1:9/", "-n", "5"];
    let words = "add --duration";
    let steps = [&load[..], &["-r", "100,200"]].concat();
    let ramp = [&load[..], &["-r", "100..200"]].concat();
    refused(&[(steps, words), (ramp, words)]);
}

#[test]
fn a_password_in_a_url_is_refused_and_not_printed() {
    let scene = Scene::new();
    let finished = scene
        .run(&["load", "http://user:sesame@127.0.0.1:9/"])
        .expect(2)
        .says("-u USER:PASSWORD");
    let printed = format!("{}{}", finished.stdout, finished.stderr);
    assert!(!printed.contains("sesame"), "{finished:#?}");
}

#[test]
fn tls_is_set_up_from_names_and_files_or_says_what_is_wrong() {
    let scene = Scene::new();
    let url = "https://127.0.0.1:9/";
    let ciphers = ["load", url, "-k", "--ciphers", "RC4"];
    scene
        .run(&ciphers)
        .expect(2)
        .says("there is no cipher suite RC4");
    scene
        .run(&["load", url, "--cacert", "/nowhere.pem"])
        .expect(2)
        .says("/nowhere.pem");
    scene
        .run(&["load", url, "--tls-version", "1.1"])
        .expect(2)
        .says("1.1");
    scene
        .run(&["load", "ftp://127.0.0.1:9/"])
        .expect(2)
        .says("http:// or https://");
}

#[test]
fn more_clients_than_files_are_refused_before_anything_is_sent() {
    let scene = Scene::new();
    let load = ["load", "http://127.0.0.1:9/", "-c", "1000000", "-n", "1"];
    scene.run(&load).expect(2).says("ulimit");
}

#[test]
fn a_wrong_list_is_refused_with_its_line() {
    let scene = Scene::new();
    for (text, words) in [
        (
            "http://127.0.0.1:9/\nget http://127.0.0.1:9/",
            "list.txt: line 2: `get` is no method",
        ),
        (
            "\nexample.com\n",
            "list.txt: line 2: `example.com` may mean http or https",
        ),
        (
            "127.0.0.1:9\n127.0.0.1:8\n",
            "list.txt: line 2: http://127.0.0.1:9 and",
        ),
        (
            "127.0.0.1:9/?k=sesame\n127.0.0.1:8/?k=sesame\n",
            "line 2: http://127.0.0.1:9/?... and http://127.0.0.1:8/?... are on two servers",
        ),
        ("# none\n", "list.txt: it lists no request"),
        (
            "POST http://127.0.0.1:9/\n@absent.json\n",
            "line 1: its body: failed to read absent.json",
        ),
        ("http://me:sesame@127.0.0.1:9/", "line 1: URL"),
    ] {
        scene.write("list.txt", text);
        let finished = scene.run(&["load", "--urls", "list.txt"]).expect(2);
        assert!(!finished.stderr.contains("sesame"), "{finished:#?}");
        finished.says("--urls: failed to read").says(words);
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    let (url, secure) = ("http://127.0.0.1:9/", "https://127.0.0.1:9/");
    let length = ["-H", "Content-Length: 4", "--body", "body", "--chunked"];
    let scene = Scene::new();
    scene.write("body", "four");
    scene.write(
        "page.har",
        r#"{"log": {"entries": [{"request": {"method": "GET", "url": "https://a.test/"},
            "response": {"status": 200}}]}}"#,
    );
    refused_in(
        &scene,
        &[
            (vec!["load", url, "--protocol", "h2"], "h2c"),
            (vec!["load", secure, "--protocol", "h2c"], "use h2"),
            (vec!["load", url, "-m", "2"], "--streams"),
            ([&["load", url], &length[..]].concat(), "Content-Length"),
            (vec!["load", url, "--chunked"], "--body"),
            (vec!["load", "--weights", "1,2", url, url, url], "--weights"),
            (
                vec!["load", "127.0.0.1:9/deeper", "--har", "page.har"],
                "a URL only names the server",
            ),
            (
                vec!["load", "http://a.test/", "--unix-socket", "absent.sock"],
                "there is no such file",
            ),
        ],
    );
}

#[test]
fn flags_that_make_no_sense_on_several_hosts_are_refused() {
    let scene = Scene::new();
    scene.write("lab.toml", "");
    let load = ["load", "http://host.invalid/", "--hosts", "lab.toml"];
    let refused = scene.run(&[&load[..], &["--source", "127.0.0.1"]].concat());
    refused.expect(2).says("--source");
    let refused = scene.run(&[&load[..], &["--generators", "hme"]].concat());
    refused.expect(2).says("did you mean `home`?");
    let twice = scene.run(&[&load[..], &["--generators", "home,home"]].concat());
    twice.expect(2).says("`home` twice");
    let unresolved = scene.run(&load).expect(2);
    unresolved.says("host home: its agent refused (failed to resolve host");
}

#[test]
fn a_demand_that_cannot_be_is_wrong_usage() {
    let scene = Scene::new();
    for (flags, words) in [
        (&["--delay", "normal:5ms"][..], "`normal:5ms` is no delay"),
        (&["--errors", "10%"], "`10%` is not a share"),
        (
            &["--errors", "0.6", "--resets", "0.6"],
            "more than 1 together",
        ),
        (&["--workers", "4"], "`workers` limits nothing"),
        (&["--queue", "4", "--delay", "1ms"], "--workers"),
        (&["--slow-body", "0:1ms"], "at least 1 byte"),
        (&["--body-sizes", "many"], "`many` is not a size"),
    ] {
        let arguments = [&["origin"][..], flags].concat();
        scene.run(&arguments).expect(2).says(words);
    }
    let help = scene.run(&["origin", "--help"]).expect(0).stdout;
    for words in [
        "--delay <DELAY>",
        "lognormal:5ms:50ms",
        "from 0 to 1",
        "1024:10ms",
    ] {
        assert!(help.contains(words), "no {words} in {help}");
    }
    let yardstick = ["yardstick", "--delay", "5ms"];
    scene.run(&yardstick).expect(2).says("--delay");
}
