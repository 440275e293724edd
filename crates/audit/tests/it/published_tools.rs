//! What tools print, where it is not as plain as it looks: clean runs that looked faulty, and what
//! a file does not say.

use bakeoff_audit::published::{Audit, Rig, audit};
use bakeoff_published::read;

fn audited(text: &str, rig: &Rig) -> Audit {
    audit(&read(text, None, &[]).expect("it can be read"), rig)
}

/// The codes of the only row.
fn codes(text: &str, rig: &Rig) -> Vec<&'static str> {
    let audit = audited(text, rig);
    assert_eq!(audit.rows.len(), 1);
    let findings = audit.rows[0].findings.iter();
    findings.map(|it| it.code.name()).collect()
}

/// What a rule lacked, if it could not be held against some row.
fn missing(audit: &Audit, code: &str) -> &'static str {
    let mut all = audit.not_checked.iter();
    let one = all.find(|it| it.code.name() == code);
    one.map_or("", |it| it.missing)
}

fn streams(streams: f64) -> Rig {
    Rig {
        streams: Some(streams),
        ..Rig::default()
    }
}

/// What k6 exports of 30 s with `users` users. Requests and iterations are how many a second, and
/// how many ms each took.
fn k6(users: u32, requests: (u32, f64), iterations: (u32, f64), more: &str) -> String {
    let (count, rate, each) = (requests.0 * 30, requests.0, requests.1);
    format!(
        r#"{{"metrics": {{"vus": {{"min": {users}, "max": {users}}},
        "vus_max": {{"min": {users}, "max": {users}}},
        "http_reqs": {{"count": {count}, "rate": {rate}}},
        "http_req_duration": {{"avg": {each}}},
        "iterations": {{"count": {}, "rate": {}}},
        "iteration_duration": {{"avg": {}}}{more}}}}}"#,
        iterations.0 * 30,
        iterations.0,
        iterations.1
    )
}

#[test]
fn a_user_of_k6_may_send_several_requests_at_once() {
    // Four at once: 3,774/s x 10 ms are 37.7 in flight, of 10 users.
    let batches = k6(10, (3774, 10.0), (943, 10.6), "");
    assert_eq!(codes(&batches, &Rig::default()), [""; 0]);
    let audit = audited(&batches, &Rig::default());
    assert!(missing(&audit, "little").contains("--streams"));
    assert_eq!(codes(&batches, &streams(4.0)), [""; 0]);
    assert_eq!(codes(&batches, &streams(2.0)), ["little"]);
    // The longest request of a batch is alone in the end, so less than four at once are fine.
    let uneven = k6(10, (1887, 10.0), (472, 21.0), "");
    assert_eq!(codes(&uneven, &streams(4.0)), [""; 0]);
    // Fewer than one for each user are too few all the same.
    let late = k6(10, (800, 10.0), (800, 12.4), "");
    for rig in [Rig::default(), streams(4.0)] {
        assert_eq!(codes(&late, &rig), ["little"]);
        let finding = &audited(&late, &rig).rows[0].findings[0];
        assert!(finding.text.contains("of 10 clients"), "{}", finding.text);
    }
}

#[test]
fn users_of_k6_that_were_allocated_and_idle_are_no_clients() {
    // Until 0.43: 500/s on schedule, 50 users in all readings, of which 500/s x 2.2 ms were busy.
    let arrival = k6(50, (500, 2.0), (500, 2.2), "");
    assert_eq!(codes(&arrival, &Rig::default()), [""; 0]);
    let clients = missing(&audited(&arrival, &Rig::default()), "little");
    assert!(clients.contains("--clients"), "{clients}");
    // Users that went from iteration to iteration are.
    let closed = k6(50, (500, 2.0), (500, 98.0), "");
    assert_eq!(codes(&closed, &Rig::default()), ["little"]);
}

/// `vegeta report -type=json` of 10 s at 500/s, in which `ok` requests came out right.
fn vegeta(ok: u32) -> String {
    let wrong = 5000 - ok;
    format!(
        r#"{{"latencies": {{"mean": 1000000, "99th": 2000000, "max": 3000000}}, "requests": 5000,
        "rate": 500.1, "duration": 9998000000, "status_codes": {{"200": {ok}, "500": {wrong}}}}}
"#
    )
}

#[test]
fn runs_that_only_a_tool_names_may_be_of_several_servers() {
    let rig = Rig {
        planned_per_s: Some(500.0),
        ..Rig::default()
    };
    // A server that failed says nothing of the one before it at the same rate.
    let two = audited(&(vegeta(5000) + &vegeta(3500)), &rig);
    assert_eq!(two.rows[0].findings, []);
    let table: Vec<&str> = two.table.iter().map(|it| it.code.name()).collect();
    assert_eq!(table, ["one-run", "repeat-differs"]);
    let differ = &two.table[1].text;
    assert!(differ.contains("if they are of one server"), "{differ}");
    // Six servers once each are no six repetitions.
    let six = audited(&vegeta(5000).repeat(6), &rig);
    let [few] = six.table.as_slice() else {
        panic!("{:?}", six.table);
    };
    assert!(few.text.starts_with("6 of 6 measurements were made once"));
    assert!(few.text.contains("which vegeta does not print"), "{few:?}");
}

/// The same, of which the last answer came `wait_s` after the last request, with bodies of
/// 289,812 bytes.
fn overloaded(ok: u32, wait_s: f64) -> String {
    let wait_ns = wait_s * 1e9;
    let bytes = 5000_u64 * 289_812;
    let more = format!(r#""wait": {wait_ns}, "bytes_in": {{"total": {bytes}}}, "requests""#);
    vegeta(ok).replace(r#""requests""#, &more)
}

#[test]
fn answers_of_vegeta_may_come_after_the_attack() {
    let rig = Rig {
        planned_per_s: Some(500.0),
        bodies: vec![(None, 289_812.0)],
        link_bits_per_s: Some(1e9),
        ..Rig::default()
    };
    // 500/s of these bodies are 1.16 Gbit/s, and the server took 8 s more to send them.
    let late = audited(&overloaded(5000, 8.0), &rig);
    assert_eq!(late.rows[0].findings, []);
    let derived = &late.rows[0].derived;
    let near = |found: Option<f64>, expected: f64| {
        let found = found.expect("there is a figure");
        assert!((found / expected - 1.0).abs() < 0.001, "{found}");
    };
    near(derived.rate_per_s, 500.1);
    near(derived.ok_per_s, 277.8);
    near(derived.link_share, 0.644);
    // Without a size, the bytes that were read went through in that time, too.
    let read = Rig {
        bodies: Vec::new(),
        ..rig.clone()
    };
    let read = audited(&overloaded(5000, 8.0), &read);
    near(read.rows[0].derived.link_share, 0.644);
    let both = ["network-bound", "impossible-bytes"];
    assert_eq!(codes(&overloaded(5000, 0.002), &rig), both);
    // What came out right is held against what ended, not against what was sent.
    let failed = audited(&overloaded(4500, 8.0), &rig);
    let text = &failed.rows[0].findings[0].text;
    let expected = "10.0 % of the requests failed: 278/s ended, 250/s came out right";
    assert_eq!(text, expected);
    // A server that answers half as fast is no repetition of the other.
    let two = audited(&(overloaded(5000, 0.002) + &overloaded(5000, 8.0)), &rig);
    let table: Vec<&str> = two.table.iter().map(|it| it.code.name()).collect();
    assert_eq!(table, ["one-run", "repeat-differs"]);
}

#[test]
fn bodies_that_vegeta_keeps_nothing_of_are_none_that_were_empty() {
    let dropped = overloaded(5000, 0.002).replace("1449060000", "0");
    let rig = |body: Option<f64>| Rig {
        planned_per_s: Some(500.0),
        bodies: body.map(|bytes| (None, bytes)).into_iter().collect(),
        link_bits_per_s: Some(10e9),
        ..Rig::default()
    };
    assert_eq!(codes(&dropped, &rig(Some(289_812.0))), [""; 0]);
    let audit = audited(&dropped, &rig(None));
    let body = "the size of the right answers (--body)";
    assert_eq!(missing(&audit, "network-bound"), body);
    let kept = overloaded(5000, 0.002).replace("1449060000", "1449060");
    let found = codes(&kept, &rig(Some(289_812.0)));
    assert_eq!(found, ["impossible-bytes"]);
}

/// wrk counts no error where the server closes a connection between two answers.
#[test]
fn too_few_in_flight_may_be_the_servers_doing() {
    let text = "Running 10s test @ http://a/\n  1 threads and 10 connections\n  \
                Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                Latency     5.00ms   10.00us   9.00ms    89.12%\n  \
                10000 requests in 10.00s, 1.00MB read\nRequests/sec: 1000.00\n";
    let row = &audited(text, &Rig::default()).rows[0];
    let [little] = row.findings.as_slice() else {
        panic!("{:?}", row.findings);
    };
    let causes = "they waited for no answer that is counted: the generator was late, connected, \
                  rested or kept a rate (--rate), or the server broke connections off or had not \
                  answered by the end";
    assert!(little.text.ends_with(causes), "{}", little.text);
}

/// Of 10 s with `-rate=0`: so many requests, their mean, and how long the last one took.
fn closed(requests: u32, mean_ns: u32, wait_s: f64) -> String {
    let (rate, wait_ns, p99_ns) = (f64::from(requests) / 10.0, wait_s * 1e9, mean_ns + 1000);
    format!(
        r#"{{"latencies": {{"mean": {mean_ns}, "99th": {p99_ns}, "max": 5000000000}},
        "requests": {requests}, "rate": {rate}, "duration": 10000000000, "wait": {wait_ns},
        "status_codes": {{"200": {requests}}}}}"#
    )
}

#[test]
fn a_closed_loop_of_vegeta_is_held_against_its_clients() {
    let rig = |clients| Rig {
        clients,
        planned_per_s: Some(0.0),
        ..Rig::default()
    };
    let many = rig(Some(50.0));
    let full = audited(&closed(25_000, 20_000_000, 0.02), &many);
    assert_eq!(full.rows[0].findings, []);
    for code in ["little", "schedule-kept"] {
        assert_eq!(missing(&full, code), "", "{code}");
    }
    let late = closed(25_000, 15_000_000, 0.02);
    assert_eq!(codes(&late, &many), ["little"]);
    // The one client waited for 5 s after it had sent the last of 1,001 requests.
    let mut one = audited(&closed(1001, 14_985_015, 5.0), &rig(Some(1.0)));
    assert_eq!(one.rows.remove(0).findings, []);
    // Nothing else says that there was no rate, nor how many clients there were.
    let rate = "the rate that was asked for (--rate), or for a closed loop --rate 0 and --clients";
    let unsaid = Rig {
        planned_per_s: None,
        ..many.clone()
    };
    for code in ["little", "schedule-kept"] {
        assert_eq!(missing(&audited(&late, &unsaid), code), rate, "{code}");
    }
    let clients = "the number of clients (--clients)";
    assert_eq!(missing(&audited(&late, &rig(None)), "little"), clients);
}

#[test]
fn a_run_of_wrk2_without_an_answer_is_not_believable() {
    let text = "Running 30s test @ http://a/\n  2 threads and 10 connections\n  \
                Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                Latency    -nanus    -nanus   0.00us    0.00%\n    \
                Req/Sec    -nan      -nan     0.00      0.00%\n  \
                0 requests in 30.00s, 0.00B read\nRequests/sec:      0.00\n";
    assert_eq!(codes(text, &Rig::default()), ["failed-share"]);
    let finding = &audited(text, &Rig::default()).rows[0].findings[0];
    assert_eq!(finding.text, "no request came to an answer");
}

#[test]
fn checks_of_k6_that_failed_are_a_note() {
    let right = r#", "http_req_failed": {"passes": 0, "fails": 24000}"#;
    let k6 = |more: &str| k6(10, (800, 12.4), (800, 12.5), more);
    let note = |text: &str| {
        let audit = audited(text, &Rig::default());
        assert_eq!(audit.rows[0].findings, [], "{text}");
        let notes = audit.rows[0].notes.iter();
        let notes: Vec<String> = notes
            .map(|it| format!("{}: {}", it.code.name(), it.text))
            .collect();
        notes.join("; ")
    };
    let said = "failed-share: 97.5 % of 24,000 checks of answers failed, by a script or by their \
                length: what it took for wrong may count as right here";
    // As --summary-export writes it, and as handleSummary gets it.
    let export = r#", "checks": {"passes": 600, "fails": 23400, "value": 0.025}"#;
    let data = r#", "checks": {"values": {"passes": 600, "fails": 23400, "rate": 0.025}}"#;
    for checks in [export, data] {
        assert_eq!(note(&k6(&format!("{right}{checks}"))), said);
    }
    let passed = r#", "checks": {"passes": 24000, "fails": 0, "value": 1}"#;
    assert_eq!(note(&k6(&format!("{right}{passed}"))), "");
    // Before 0.31 nothing else counts failures.
    let old = k6(export);
    assert_eq!(note(&old), said);
    let why = missing(&audited(&old, &Rig::default()), "failed-share");
    assert!(why.contains("k6 has since 0.31"), "{why}");
    // Requests that failed are a finding, and say as much as checks of them.
    let wrong = r#", "http_req_failed": {"passes": 23400, "fails": 600}"#;
    let row = &audited(&k6(&format!("{wrong}{export}")), &Rig::default()).rows[0];
    assert_eq!(row.findings[0].code.name(), "failed-share");
    assert_eq!(row.notes, []);
}

#[test]
fn failures_are_read_as_locust_names_them() {
    let locust = "Type,Name,Request Count,Failure Count,Requests/s,Failures/s";
    let rates = "Name,Requests/s,Failures/s";
    for (header, cells, expected) in [
        (locust, "GET,/,100000,0,3333.33,0.00", &[][..]),
        (
            locust,
            "GET,/,100000,5000,3333.33,166.67",
            &["failed-share"],
        ),
        (
            locust,
            "GET,/,100000,0,3333.33,166.67",
            &["failed-share", "counts-differ"],
        ),
        (rates, "/,1000.0,0.0", &[]),
        (rates, "/,1000.0,50.0", &["failed-share"]),
    ] {
        let text = format!("{header}\n{cells}\n");
        assert_eq!(codes(&text, &Rig::default()), expected, "{text}");
        let audit = audited(&text, &Rig::default());
        let known = |name: &String| name == "Type" || name == "Name";
        assert!(
            audit.unknown_columns.iter().all(known),
            "{:?}",
            audit.unknown_columns
        );
        assert_ne!(missing(&audit, "failed-share"), "how many requests failed");
    }
}

#[test]
fn clients_that_wait_for_an_answer_beyond_the_timeout_are_not_idle() {
    let text = |answered: u32, late: u32, mean: &str| {
        format!(
            "Running 15s test @ http://a/\n  20 threads and 20 connections\n  \
             Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
             Latency     {mean}    0.00us   {mean}  100.00%\n  \
             {answered} requests in 15.06s, 1.00KB read\n  \
             Socket errors: connect 0, read 0, write 0, timeout {late}\nRequests/sec: {:.2}\n",
            f64::from(answered) / 15.06
        )
    };
    let little = |text: &str| codes(text, &Rig::default()).contains(&"little");
    assert!(!little(&text(10, 9, "1.35s")));
    assert!(!little(&text(88, 75, "1.20s")));
    // Two late ones of 20,000 do not keep 18 of 20 clients waiting.
    assert!(little(&text(20_000, 2, "1.00ms")));
}

#[test]
fn a_mean_that_is_p99_is_a_copy_unless_all_requests_are_alike() {
    let codes = |header: &str, row: &str| {
        let text = format!("clients,duration_s,requests,mean_ms,{header}\n10,30,{row}\n");
        codes(&text, &Rig::default())
    };
    assert_eq!(codes("p99_ms", "96774,3.10,3.10"), ["quantile-order"]);
    assert_eq!(
        codes("p50_ms,p99_ms,max_ms", "96774,3.10,2.10,3.10,300"),
        ["quantile-order"]
    );
    assert_eq!(codes("p99_ms", "96774,3.10,4.10"), [""; 0]);
    // A server that waits takes as long for each, and one digit hides what is between.
    assert_eq!(codes("p50_ms,p99_ms", "96774,3.10,3.10,3.10"), [""; 0]);
    assert_eq!(codes("p99_ms,max_ms", "96774,3.10,3.10,3.10"), [""; 0]);
    assert_eq!(codes("p99_ms", "100000,3,3"), [""; 0]);
}

#[test]
fn whole_milliseconds_of_autocannon_leave_no_client_idle() {
    let run = |average: f64, total: u32, rate: u32| {
        format!(
            r#"{{"connections": 10, "pipelining": 1, "duration": 10.02, "errors": 0, "timeouts": 0,
            "non2xx": 0, "latency": {{"average": {average}, "p50": 0, "p99": 1, "max": 40}},
            "requests": {{"average": {rate}, "total": {total}}}, "throughput": {{"total": 9}}}}"#
        )
    };
    // 0.2 ms are cut off to 0.02.
    assert_eq!(codes(&run(0.02, 500_000, 49_900), &Rig::default()), [""; 0]);
    assert_eq!(
        codes(&run(9.0, 50_000, 4990), &Rig::default()),
        ["little", "quantile-order"]
    );
    assert_eq!(
        codes(&run(1.5, 50_000, 9990), &Rig::default()),
        ["rate-differs"]
    );
}

#[test]
fn other_lengths_that_ab_calls_failed_are_a_note() {
    let text = "Concurrency Level: 10\nTime taken for tests: 12.000 seconds\n\
                Complete requests: 24000\nFailed requests: 20000\n   \
                (Connect: 0, Receive: 0, Length: 20000, Exceptions: 0)\n\
                Requests per second: 2000.00 [#/sec] (mean)\n";
    let audit = audited(text, &Rig::default());
    assert_eq!(audit.rows[0].findings, []);
    let note = &audit.rows[0].notes[0];
    assert!(
        note.text
            .starts_with("83.3 % of 24,000 checks of answers failed"),
        "{note:?}"
    );
    let wrong = text.replace("Requests per", "Non-2xx responses: 24000\nRequests per");
    assert_eq!(codes(&wrong, &Rig::default()), ["failed-share"]);
}

/// k6's own first example sleeps: users that rest are no late generator.
#[test]
fn users_of_k6_that_sleep_are_not_called_late() {
    let of = |least: &str| {
        format!(
            "http_req_duration..............: avg=19.1ms min=11.2ms med=15.9ms max=119ms\n\
             http_reqs......................: 300    9.71/s\n\
             iteration_duration.............: avg=1.02s min={least}\n\
             iterations.....................: 300    9.71/s\n\
             vus............................: 10     min=10 max=10\n\
             vus_max........................: 10     min=10 max=10\n"
        )
    };
    let resting = |think_s| Rig {
        think_s: Some(think_s),
        ..Rig::default()
    };
    assert_eq!(codes(&of("1.01s"), &Rig::default()), [""; 0]);
    assert_eq!(codes(&of("1.01s"), &resting(1.0)), [""; 0]);
    assert_eq!(codes(&of("1.01s"), &resting(0.1)), ["little"]);
    assert_eq!(codes(&of("25ms"), &Rig::default()), ["little"]);
}
