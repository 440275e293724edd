//! What the text of a load says of its end and of its answers, except for numbers.

use std::fmt::Write as _;

use bakeoff_record::LoadResult;

use crate::number::{count, counted, digits, plain};

/// Columns before the numbers: the name of a row.
pub(super) const NAMES: usize = 13;
/// Letters of a URL that are shown.
const URL_LETTERS_MAX: usize = 400;

/// A line behind the name of its row, or below the one before without a name.
pub(super) fn line(text: &mut String, name: &str, said: &str) {
    let _ = writeln!(text, "{name:<NAMES$}{said}");
}

/// Says that somebody stopped the load, and how far it had come; empty where it came to its end.
pub(super) fn interrupted(result: &LoadResult) -> String {
    let Some(interrupted) = &result.observed.interrupted else {
        return String::new();
    };
    if is_unmeasured(result) {
        let place = if result.load.warmup_s > 0.0 {
            "in the warm-up"
        } else {
            "before the load began"
        };
        return format!("interrupted {place}: ");
    }
    let of = interrupted.planned_s;
    let of = of.map_or(String::new(), |planned_s| format!(" of {planned_s} s"));
    format!("interrupted after {} s{of}: ", digits(result.measured_s))
}

/// Whether it was stopped before its window opened.
pub(super) fn is_unmeasured(result: &LoadResult) -> bool {
    result.observed.interrupted.is_some() && result.measured_s == 0.0
}

/// How many of the compared bodies are wrong, where not all are compared: each stands for many.
pub(super) fn wrong_bodies(result: &LoadResult) -> Option<String> {
    let (wrong, compared) = (result.observed.bodies_wrong, result.bodies_checked);
    (wrong > 0 && result.settings.body_check_one_in > 1).then(|| {
        let verb = if wrong == 1 { "is" } else { "are" };
        format!(
            "{} of {} compared bodies {verb} wrong",
            count(wrong),
            count(compared)
        )
    })
}

/// How many answers hold nothing of what was asked, and where to they sent the client.
pub(super) fn without_page(result: &LoadResult) -> Option<String> {
    let missing = result.pages_missing();
    let (all, bodies) = (result.requests.completed, result.bytes.body);
    let Some(said) = result.observed.said.iter().find(|it| it.has_no_page()) else {
        let is_empty = result.requests.ok > 0 && bodies == 0;
        return is_empty.then(|| "all bodies are empty".to_owned());
    };
    let status = said.status;
    let to = said.target();
    let to = to.map_or(String::new(), |to| {
        format!(" to {}", shortened(&plain(&to)))
    });
    let what = if said.is_redirect() {
        format!("redirects ({status}{to})")
    } else {
        format!("without a page ({status})")
    };
    let how_many = if missing == all {
        "all answers".to_owned()
    } else {
        format!("{} of {} answers", count(missing), count(all))
    };
    (missing > 0).then(|| format!("{how_many} are {what}"))
}

/// What the server said in place of a page, a line for each status.
pub(super) fn said(result: &LoadResult) -> String {
    let mut text = String::new();
    for (at, said) in result.observed.said.iter().enumerate() {
        let label = if at == 0 { "said" } else { "" };
        let _ = write!(text, "{label:13}{}", said.status);
        if !said.reason.is_empty() {
            let _ = write!(text, " {}", plain(&said.reason));
        }
        if let Some(location) = &said.location {
            let _ = write!(text, ", to {}", shortened(&plain(location)));
        }
        if !said.body.is_empty() {
            let _ = write!(text, ": {}", plain(&said.body));
        }
        text.push('\n');
    }
    text
}

/// Addresses that are named one by one.
const ADDRESSES_SHOWN: usize = 8;

/// How long connections were opened ahead of the load, where that was long, and which addresses of
/// a name took connections or were given up; each in a line.
pub(super) fn opened(result: &LoadResult) -> String {
    let mut text = String::new();
    if let Some(opening_s) = result.observed.opening_s {
        let opening_s = digits(opening_s);
        let said = format!("opened for {opening_s} s before the load began");
        line(&mut text, "", &said);
    }
    let all = result.observed.addresses.iter();
    let told = all.filter(|one| one.opened > 0 || one.problem.is_some());
    for one in told.take(ADDRESSES_SHOWN) {
        let opened = (one.opened > 0).then(|| counted(one.opened, "connection"));
        let problem = one.problem.as_deref().map(plain);
        let parts: Vec<String> = opened.into_iter().chain(problem).collect();
        let said = format!("{}: {}", plain(&one.address), parts.join("; "));
        line(&mut text, "", &said);
    }
    text
}

/// A URL that is not longer than a few lines; that of the JSON document is whole.
pub(super) fn shortened(url: &str) -> String {
    let cut = url.char_indices().nth(URL_LETTERS_MAX).map(|(at, _)| at);
    cut.map_or(url.to_owned(), |at| {
        format!("{}... ({} bytes)", &url[..at], count(url.len() as u64))
    })
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Load, LoadModel};
    use bakeoff_record::{AddressUse, Interrupted, Said};

    use super::*;
    use crate::{load_json, load_text};

    fn empty(measured_s: f64, warmup_s: f64) -> LoadResult {
        let load = Load {
            warmup_s,
            ..Load::new(LoadModel::Closed { clients: 1 }, 10.0)
        };
        let mut result = LoadResult::empty(load, measured_s);
        (result.requests.ok, result.requests.completed) = (4, 4);
        result
    }

    #[test]
    fn a_load_that_was_interrupted_says_so_first() {
        let check = |result: &LoadResult, expected: &str| {
            let text = load_text(result, None);
            assert!(text.starts_with(expected), "{text}");
        };
        let mut result = empty(1.02, 0.0);
        check(&result, "3.92 ok/s; ");
        let interrupted = |planned_s| Interrupted {
            planned_s,
            cut_off: 5,
        };
        result.observed.interrupted = Some(interrupted(Some(10.0)));
        check(&result, "interrupted after 1.02 s of 10 s: 3.92 ok/s; ");
        let text = load_text(&result, None);
        assert!(text.contains("5 more requests due shortly before the interruption"));
        let json = load_json(&result);
        assert_eq!(
            (&json["interrupted"], &json["cut_off"]),
            (&true.into(), &5.into())
        );
        result.observed.interrupted = Some(interrupted(None));
        check(&result, "interrupted after 1.02 s: 3.92 ok/s; ");
        for (warmup_s, place) in [(2.0, "in the warm-up"), (0.0, "before the load began")] {
            let mut result = empty(0.0, warmup_s);
            (result.requests.ok, result.requests.completed) = (0, 0);
            result.observed.interrupted = Some(interrupted(Some(10.0)));
            check(
                &result,
                &format!("interrupted {place}: nothing was measured\n"),
            );
        }
    }

    #[test]
    fn wrong_bodies_are_said_by_how_many_were_compared() {
        let mut result = empty(1.0, 0.0);
        result.settings.body_check_one_in = 64;
        (result.bodies_checked, result.observed.bodies_wrong) = (16, 16);
        let words = "16 of 16 compared bodies are wrong";
        assert!(load_text(&result, None).contains(words));
        assert!(result.has_no_right_body());
        result.observed.bodies_wrong = 1;
        assert!(load_text(&result, None).contains("1 of 16 compared bodies is wrong"));
        assert!(!result.has_no_right_body());
        result.observed.bodies_wrong = 0;
        assert!(!load_text(&result, None).contains("compared"));
    }

    #[test]
    fn redirects_are_said_first_and_what_was_said_once() {
        let mut result = empty(1.0, 0.0);
        result.status.insert(301, 4);
        result.observed.said = vec![
            Said {
                url: "http://a/x".to_owned(),
                status: 301,
                reason: "Moved".to_owned(),
                location: Some("/y".to_owned()),
                body: String::new(),
            },
            Said {
                status: 403,
                body: "no entry".to_owned(),
                ..Said::default()
            },
        ];
        let text = load_text(&result, None);
        let first = "; all answers are redirects (301 to http://a/y); 1 warning below\n";
        assert!(text.contains(first), "{text}");
        assert!(text.contains("said         301 Moved, to /y\n             403: no entry\n"));
        assert_eq!(
            load_json(&result)["observed"]["said"][0]["target"],
            "http://a/y"
        );
        result.requests.completed = 40;
        let text = load_text(&result, None);
        assert!(text.contains("; 4 of 40 answers are redirects (301 to http://a/y); 1"));
        result.status.insert(304, 4);
        (result.requests.completed, result.observed.said[0].status) = (4, 304);
        let text = load_text(&result, None);
        assert!(
            text.contains("; all answers are without a page (304); 1"),
            "{text}"
        );
        result.observed.said.clear();
        assert!(load_text(&result, None).contains("no errors; all bodies are empty\n"));
        result.bytes.body = 1;
        assert!(load_text(&result, None).contains("no errors\n"));
    }

    #[test]
    fn addresses_and_a_long_opening_are_said() {
        let mut result = empty(1.0, 0.0);
        let one = |address: &str, opened, problem: Option<&str>| AddressUse {
            address: address.to_owned(),
            opened,
            problem: problem.map(str::to_owned),
        };
        result.observed.addresses = vec![
            one("[::1]:80", 0, Some("refused")),
            one("127.0.0.1:80", 3, None),
            one("127.0.0.2:80", 0, None),
        ];
        result.observed.opening_s = Some(3.25);
        let text = load_text(&result, None);
        let expected = "opened for 3.25 s before the load began\n             [::1]:80: refused\n";
        assert!(text.contains(expected), "{text}");
        assert!(
            text.contains("             127.0.0.1:80: 3 connections\n"),
            "{text}"
        );
        assert!(!text.contains("127.0.0.2"), "{text}");
    }

    #[test]
    fn a_long_url_is_cut_for_eyes_and_whole_in_json() {
        let mut result = empty(1.0, 0.0);
        result.url = format!("http://127.0.0.1/{}", "a".repeat(60_000));
        let text = load_text(&result, None);
        assert!(text.contains("aaa... (60,017 bytes)\n"), "{text}");
        assert!(text.len() < 3_000, "{}", text.len());
        assert_eq!(load_json(&result)["url"], result.url.as_str());
    }
}
