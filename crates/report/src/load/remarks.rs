//! What the text of a load says of its end and of its answers beside numbers.

use bakeoff_record::LoadResult;

use crate::number::{count, digits};

/// Letters of a URL that are shown.
const URL_LETTERS_MAX: usize = 400;

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

/// A URL that is not longer than a few lines; that of the JSON document is whole.
pub(super) fn shortened(url: &str) -> String {
    let cut = url.char_indices().nth(URL_LETTERS_MAX).map(|(at, _)| at);
    cut.map_or(url.to_owned(), |at| {
        format!("{}... ({} bytes)", &url[..at], count(url.len() as u64))
    })
}

#[cfg(test)]
mod tests {
    use bakeoff_plan::{Connect, Load, LoadModel};
    use bakeoff_record::Interrupted;

    use super::*;
    use crate::{load_json, load_text};

    fn empty(measured_s: f64, warmup_s: f64) -> LoadResult {
        let load = Load {
            model: LoadModel::Closed { clients: 1 },
            streams: 1,
            requests: None,
            warmup_s,
            duration_s: 10.0,
            timeout_s: 10.0,
            connect: Connect::First,
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
    fn a_long_url_is_cut_for_eyes_and_whole_in_json() {
        let mut result = empty(1.0, 0.0);
        result.url = format!("http://127.0.0.1/{}", "a".repeat(60_000));
        let text = load_text(&result, None);
        assert!(text.contains("aaa... (60,017 bytes)\n"), "{text}");
        assert!(text.len() < 3_000, "{}", text.len());
        assert_eq!(load_json(&result)["url"], result.url.as_str());
    }
}
