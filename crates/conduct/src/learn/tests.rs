use bakeoff_plan::Builtin;
use bakeoff_stage::Fetched;

use super::*;
use crate::scripts::answer;

const PLAN: &str = r#"
    name = "open"
    [[contender]]
    name = "a"
    url = "http://127.0.0.1:1/"
    [[contender]]
    name = "b"
    url = "http://127.0.0.1:2/"
    [[load]]
    clients = 1
    [[workload]]
    name = "page"
"#;

fn fetched(status: u16, kind: &str, body: &str) -> Fetched {
    let digest = format!("{body:0>64.64}").replace(|c: char| !c.is_ascii_hexdigit(), "0");
    Fetched {
        check: AnswerCheck {
            body_bytes: body.len() as u64,
            body_sha256: digest,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            right: true,
            ..answer(status)
        },
        body: body.as_bytes().to_vec(),
    }
}

/// The plan and its notes after these answers of each contender.
fn learned(a: &[Fetched], b: &[Fetched]) -> (Plan, Vec<String>) {
    let plan = bakeoff_plan::parse(PLAN, "p", std::path::Path::new("/"), &Builtin).unwrap();
    let seen = |answers: &[Fetched]| {
        let mut answers = answers.iter().cloned().map(|fetched| Answered {
            fetched,
            of_upstream: false,
        });
        let mut seen = Seen::of(answers.next().unwrap());
        answers.for_each(|answer| seen.meet(&answer));
        vec![(0, seen)]
    };
    let (learned, notes) = learn(&plan, &[((0, 0), seen(a)), ((1, 0), seen(b))]);
    let again = learned.to_toml();
    let again = bakeoff_plan::parse(&again, "p", std::path::Path::new("/"), &Builtin).unwrap();
    assert_eq!(
        again, learned,
        "what was learned is in the plan of the record"
    );
    (learned, notes)
}

fn expected(workload: &Workload) -> &Expected {
    &workload.requests.first().expect
}

#[test]
fn what_all_answer_is_right() {
    let page = || fetched(200, "text/html", "1234");
    let (plan, notes) = learned(&[page(), page()], &[page()]);
    assert_eq!(notes, [""; 0]);
    let right = expected(&plan.workloads[0]);
    assert_eq!(right.body, Some(Content::Text("1234".to_owned())));
    assert!(plan.contenders.iter().all(|it| it.answers.is_empty()));
    let (_, notes) = learned(&[page()], &[fetched(200, "text/plain", "1234")]);
    assert!(notes[0].contains("Content-Type differs"), "{notes:?}");
}

#[test]
fn a_workload_is_for_proxies_if_an_upstream_has_a_part_in_an_answer() {
    let text = format!("{PLAN}\nproxied = true\n");
    let demanding = format!("{text}origin = {{ delay = \"1ms\" }}\n");
    for (text, of_upstream, expected) in [
        (&text, [false, false], false),
        (&text, [false, true], true),
        (&demanding, [false, false], true),
    ] {
        let plan = bakeoff_plan::parse(text, "p", std::path::Path::new("/"), &Builtin).unwrap();
        let seen = |index: usize| {
            let seen = Seen::of(Answered {
                fetched: fetched(200, "text/html", "1234"),
                of_upstream: of_upstream[index],
            });
            ((index, 0), vec![(0, seen)])
        };
        let (learned, _) = learn(&plan, &[seen(0), seen(1)]);
        assert_eq!(learned.workloads[0].proxied, expected, "{of_upstream:?}");
    }
}

#[test]
fn where_answers_differ_each_is_compared_with_itself() {
    let (plan, notes) = learned(
        &[fetched(200, "text/html", "hello 12 times")],
        &[fetched(404, "text/plain", "hello 13")],
    );
    assert_eq!(notes.len(), 2);
    assert!(
        notes[1].contains("is answered by b with 404: that answer is what is measured"),
        "{notes:?}"
    );
    for part in [
        "a 200, 14 bytes of text/html; b 404, 8 bytes of text/plain",
        "at byte 7: \"12 times\" and \"13\"",
    ] {
        assert!(notes[0].contains(part), "no {part} in {notes:?}");
    }
    let of_b = plan.workloads[0].asked_of(&plan.contenders[1]);
    let right = expected(&of_b);
    assert_eq!(right.status, 404);
    let sent = right.sent().unwrap();
    assert!(sent.bytes == Some(8) && sent.sha256.is_some());
}

#[test]
fn what_is_no_page_says_what_to_ask() {
    let note = |status: u16, place: Option<&str>| {
        let mut answer = fetched(status, "text/html", "");
        let place = place.map(|place| ("location".to_owned(), place.to_owned()));
        answer.check.headers.extend(place);
        let (_, notes) = learned(&[answer.clone()], &[answer]);
        assert_eq!(notes.len(), 1, "{notes:?}");
        let (_, advice) = notes[0].split_once("to measure a page, ").unwrap();
        advice.to_owned()
    };
    assert_eq!(
        note(308, Some("https://a.test/?token=1")),
        "give the https URL, or --protocol h2 or h1-tls, as it redirects to \
         \"https://a.test/\""
    );
    let path = "ask for \"/login\", to which it redirects";
    assert_eq!(note(302, Some("/login")), path);
    assert!(note(401, None).contains("-H 'Authorization: ...'"));
    assert!(note(429, None).contains("raise the limit"));
    assert_eq!(note(404, None), "ask for the path of one");
    assert_eq!(note(304, None), "ask for the path of one");
    assert!(note(200, None).starts_with("name its site with -H 'Host: ...'"));
    let (_, notes) = learned(&[fetched(200, "", "a")], &[fetched(200, "", "")]);
    let said = "is answered by b with 200 and no body: that answer is what is measured";
    assert!(notes.iter().any(|note| note.contains(said)), "{notes:?}");
    // Nothing is the right answer to a request that asks for none.
    let empty = [fetched(204, "", "")];
    assert_eq!(learned(&empty, &empty).1, [""; 0]);
}

#[test]
fn a_long_body_is_compared_as_far_as_it_is_kept() {
    let long = |end: &str| {
        let mut answer = fetched(200, "text/plain", &"a".repeat(KEPT_BYTES + 1));
        answer.body.extend(end.bytes());
        answer.check.body_sha256 = format!("{:0>64}", end.len());
        answer
    };
    let answers = [long("b"), long("bc")];
    let (_, notes) = learned(&answers, &answers);
    assert!(notes[0].contains("(behind its first 1 MiB)"), "{notes:?}");
}

#[test]
fn what_changes_from_answer_to_answer_is_named_and_not_compared() {
    let clock = |time: &str| fetched(200, "text/html", &format!("<b>{time}</b>"));
    let both = [clock("12:04:05"), clock("12:04:05"), clock("12:04:06")];
    let (plan, notes) = learned(&both, &[clock("12:04:05"), clock("12:04:07")]);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("at byte 10: \"12:04:05"), "{notes:?}");
    assert!(
        notes[0].ends_with("its status and about its length are compared"),
        "{notes:?}"
    );
    let own = |plan: &Plan, at: usize| plan.contenders[at].answers[0].body.clone();
    let one = own(&plan, 0);
    assert!(one.sha256.is_none() && one.bytes.is_none());
    let one = one.changing.unwrap();
    assert_eq!(one.bytes, Some([15, 15]));
    assert!(one.rest_sha256.is_some());
    assert_eq!(own(&plan, 1).changing.unwrap(), one, "it is the same page");
    let other = [clock("<i>1"), clock("<i>2")];
    let (_, notes) = learned(&both, &other);
    assert!(notes[0].contains("they may do unequal work"), "{notes:?}");
    let far = [clock("1"), clock(&"2".repeat(90))];
    let (plan, notes) = learned(&far, &far);
    assert!(
        notes[0].ends_with("only its status is compared"),
        "{notes:?}"
    );
    assert_eq!(own(&plan, 0).changing.unwrap().bytes, None);
}
