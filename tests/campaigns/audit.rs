//! `bakeoff audit`: exit codes, messages with file and line, and the document for scripts.

use std::process::Command;

use crate::support::scene::Scene;

/// Ten clients; in the second row a fifth of their time went elsewhere.
const TABLE: &str = "server,clients,requests,average_ms\n\
                     a,10,300000,1.00\n\
                     b,10,300000,0.80\n";

#[test]
fn rows_that_cannot_be_believed_end_with_4_and_fine_ones_with_0() {
    let scene = Scene::new();
    scene.write("table.csv", TABLE);
    let flags = ["--duration", "30s"];
    let bad = scene.run(&[&["audit", "table.csv"][..], &flags].concat());
    let bad = bad.expect(4).stdout;
    assert!(
        bad.starts_with("1 of 2 rows can be believed, 1 cannot.\n"),
        "{bad}"
    );
    assert!(bad.contains("line 3: server=b clients=10\n"), "{bad}");
    assert!(bad.contains("10,000/s x 0.80 ms = 8 requests"), "{bad}");
    let fine: Vec<&str> = TABLE.lines().take(2).collect();
    scene.write("fine.csv", &fine.join("\n"));
    let arguments = [&["audit", "fine.csv"][..], &flags].concat();
    let text = scene.run(&arguments).expect(0).stdout;
    assert!(text.contains("can be believed"), "{text}");
    // It was measured once, which is a finding about the table as a whole.
    let strict = scene.run(&[&arguments[..], &["--strict"]].concat());
    let text = strict.expect(4).stdout;
    assert!(text.contains("one-run (R18)"), "{text}");
}

#[test]
fn the_document_has_the_fixed_names() {
    let scene = Scene::new();
    scene.write("table.csv", TABLE);
    let arguments = [
        "audit",
        "table.csv",
        "--duration",
        "30s",
        "--format",
        "json",
    ];
    let document = scene.run(&arguments).expect(4).json();
    assert_eq!(document["schema"], "bakeoff.audit/1");
    let row = &document["rows"][1];
    assert_eq!(
        (&row["line"], &row["key"]),
        (&3.into(), &"server=b clients=10".into())
    );
    assert_eq!(row["derived"]["rate_per_s"], 10_000.0);
    assert!(row["derived"]["link_share"].is_null());
    let finding = &row["findings"][0];
    assert_eq!(
        (&finding["code"], &finding["rule"]),
        (&"little".into(), &"R31".into())
    );
    assert_eq!(document["table"][0]["code"], "one-run");
}

#[test]
fn what_cannot_be_read_ends_with_2_and_names_file_and_line() {
    let scene = Scene::new();
    for (name, text, message) in [
        (
            "cell.csv",
            "requests,average_ms\n1,2\n3,soon\n",
            "cell.csv:3: column `average_ms`",
        ),
        ("unit.csv", "requests,p99\n1,2\n", "--column 'p99=p99:ms'"),
        (
            "other.txt",
            "no table at all\n",
            "other.txt:1: no known form",
        ),
        (
            "escape.csv",
            "requests,p99_ms\n1,\u{7}2J\n",
            "found `\\u{7}2J`",
        ),
    ] {
        scene.write(name, text);
        let stderr = scene.run(&["audit", name]).expect(2).stderr;
        assert!(stderr.contains(message), "{stderr}");
    }
    let stderr = scene.run(&["audit", "missing.csv"]).expect(2).stderr;
    assert!(stderr.contains("failed to read missing.csv"), "{stderr}");
    scene.run(&["audit", "x", "--link", "10"]).expect(2);
}

#[test]
fn standard_input_is_read_and_a_file_is_written() {
    let scene = Scene::new();
    scene.write("table.csv", TABLE);
    let mut shell = Command::new("sh");
    let piped = "\"$0\" audit - --format md --output audit.md <table.csv";
    shell.args(["-c", piped, env!("CARGO_BIN_EXE_bakeoff")]);
    // Without a duration nothing is found.
    scene.run_command(shell).expect(0);
    let text = scene.read("audit.md");
    assert!(text.starts_with("**All 2 rows can be believed"), "{text}");
}

#[test]
fn what_is_no_text_is_named_and_not_converted() {
    let scene = Scene::new();
    for (name, bytes, words) in [
        (
            "a.pdf",
            &b"%PDF-1.4\n\xe2\xe3"[..],
            "it is a PDF; expected text",
        ),
        (
            "a.xlsx",
            b"PK\x03\x04\x14\0",
            "it is a zip archive, as the files of Excel",
        ),
    ] {
        std::fs::write(scene.path(name), bytes).unwrap();
        let refused = scene.run(&["audit", name]).expect(2);
        assert!(!refused.stderr.contains("iconv"), "{refused:#?}");
        refused.says(words);
    }
}
