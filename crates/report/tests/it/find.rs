//! What a search found, in every format, from a made-up record.
//!
//! When a change is wanted: `BLESS=1 cargo test -p bakeoff-report --test it find`, then read the
//! difference.

use std::time::Duration;

use crate::goldens::check;
use bakeoff_plan::{LoadModel, goals};
use bakeoff_record::{
    Disturbance, Outcome, Record, Role, TreeTick, TreeUsage, TrialEnd, TrialRecord, Usage,
};
use bakeoff_report::{
    FindReport, OwnReport, Redacted, SiteOptions, TextOptions, find_view, site_files, site_record,
};
use bakeoff_search::{TRIALS_MAX, quests};
use bakeoff_testing::searching::{carried_out, carried_out_of, search, trial};

fn view(record: Record) -> FindReport {
    find_view(&Redacted::hidden(record)).unwrap()
}

const OPTIONS: TextOptions<'static> = TextOptions {
    width: 120,
    colour: false,
    full: false,
    diffs: false,
    record: None,
    needed_again: None,
};

#[test]
fn every_format_has_the_bounds_and_the_curve() {
    let report = view(carried_out(&[
        ("nginx-default", 7_450.0),
        ("caddy-default", 3_100.0),
    ]));
    check("find.txt", &report.text(OPTIONS));
    check("find.md", &report.markdown(false));
    check("find.csv", &report.csv());
    check("find.html", &report.html());
    let json = report.json();
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["schema"], "bakeoff.find/1");
    let first = &document["contenders"][0];
    for key in [
        "contender",
        "workload",
        "goal",
        "lower_per_s",
        "upper_per_s",
        "achieved_per_s",
        "irregular",
        "confirmed",
        "trials",
        "curve",
    ] {
        assert!(first.get(key).is_some(), "{key}");
    }
    assert_eq!(report.why_not_valid(true), None);
}

/// A curve had the columns of the first search: a quantile of another one stood under a wrong name,
/// or ended the report in a panic.
#[test]
fn searches_for_different_quantiles_have_a_column_for_each() {
    let mut record = search();
    let mut other = record.plan.loads[0].clone();
    if let LoadModel::Sought(search) = &mut other.model {
        search.goals = goals(&["p95<9ms".parse().unwrap()], &[0.001]);
    }
    record.plan.loads.insert(0, other);
    let of = [("nginx-default", 7_450.0), ("caddy-default", 3_100.0)];
    let text = view(carried_out_of(record, &of)).text(OPTIONS);
    let heads = text.lines().find(|line| line.contains("of lower")).unwrap();
    assert!(heads.contains("p90    p95    p99  p99.9"), "{text}");
    let full = text.lines().filter(|line| line.contains(" 50.00 "));
    let fields: Vec<usize> = full.map(|line| line.split_whitespace().count()).collect();
    assert_eq!(fields, [12; 4], "{text}");
}

/// Two sentences said of one server that it carries two rates with the same goal.
#[test]
fn searches_with_the_same_goal_are_named() {
    let mut record = search();
    let mut other = record.plan.loads[0].clone();
    if let LoadModel::Sought(search) = &mut other.model {
        search.clients = 200;
    }
    record.plan.loads.push(other);
    let of = [("nginx-default", 7_450.0), ("caddy-default", 3_100.0)];
    let report = view(carried_out_of(record, &of));
    let named = |name: &str| {
        report
            .answer
            .iter()
            .filter(|line| line.starts_with(name))
            .count()
    };
    let names = ["find-p99-10ms-c100: ", "find-p99-10ms-c200: "];
    assert_eq!(names.map(named), [4, 4], "{:#?}", report.answer);
    let text = report.text(TextOptions {
        width: 160,
        ..OPTIONS
    });
    assert!(
        text.contains("trials  search\n") && text.contains("failed  search\n"),
        "{text}"
    );
}

#[test]
fn contenders_are_compared_only_where_their_bounds_are_apart() {
    let answer = |capacities| view(carried_out(capacities)).answer;
    let apart = answer(&[("nginx-default", 7_450.0), ("caddy-default", 3_100.0)]);
    assert_eq!(apart.len(), 4, "{apart:#?}");
    assert!(
        apart[0].starts_with("nginx-default carries 7,"),
        "{}",
        apart[0]
    );
    assert!(
        apart[0].contains("with p99 below 10 ms and at most 0.001 % failed"),
        "{}",
        apart[0]
    );
    assert!(
        apart[1].starts_with("nginx-default carries 2."),
        "{}",
        apart[1]
    );
    assert!(
        apart[1].ends_with("times as much as caddy-default."),
        "{}",
        apart[1]
    );
    let beside = answer(&[("nginx-default", 7_750.0), ("caddy-default", 7_450.0)]);
    assert!(
        beside[1].ends_with("which two searches of one server may be: no difference is shown."),
        "{}",
        beside[1]
    );
    let near = answer(&[("nginx-default", 7_450.0), ("caddy-default", 7_460.0)]);
    assert!(
        near[1].ends_with("overlap: no difference is shown."),
        "{}",
        near[1]
    );
}

/// Trials of 2 s see so few requests that bounds of one server are further apart.
#[test]
fn short_trials_show_a_difference_only_where_bounds_are_further_apart() {
    let capacities = [("nginx-default", 7_450.0), ("caddy-default", 6_900.0)];
    let with_trials_of = |length_s: f64| {
        let mut record = search();
        let LoadModel::Sought(search) = &mut record.plan.loads[0].model else {
            unreachable!("its rate is sought");
        };
        search.sum = Duration::from_secs_f64(length_s * 6.0);
        record.plan.loads[0].duration_s = length_s;
        let report = view(carried_out_of(record, &capacities));
        let [more, less] = ["nginx-default", "caddy-default"].map(|name| {
            let row = report.rows.iter().find(|it| it.contender == name);
            row.unwrap()
        });
        let apart = more.lower_per_s.unwrap() / less.upper_per_s.unwrap();
        assert!((1.05..=1.08).contains(&apart), "{apart}");
        report.answer[1].clone()
    };
    let full = with_trials_of(10.0);
    assert!(full.ends_with("times as much as caddy-default."), "{full}");
    let short = with_trials_of(2.0);
    assert!(short.ends_with("no difference is shown."), "{short}");
}

#[test]
fn a_confirmation_that_the_engine_spoiled_is_not_the_servers() {
    let mut record = carried_out(&[("nginx-default", 7_450.0), ("caddy-default", 3_100.0)]);
    for trial in &mut record.trials {
        let name = trial.load_name.as_deref().unwrap_or_default();
        let is_first = trial.contender == "nginx-default";
        let result = trial.result.as_mut().unwrap();
        if is_first && name.ends_with("-confirm") {
            // Slow, and one request could not be sent for want of a port.
            result.latency.record_n(50_000_000, result.requests.ok);
            result.outcomes.add(Outcome::Local);
        }
    }
    // As many as a confirmation takes at the most.
    let is_confirming = |trial: &&TrialRecord| {
        let name = trial.load_name.as_deref().unwrap_or_default();
        trial.contender == "nginx-default" && name.ends_with("-confirm")
    };
    let more = record.trials.iter().find(is_confirming).unwrap().clone();
    record.trials.extend([more.clone(), more]);
    let report = view(record);
    let row = &report.rows[0];
    let spoiled = (row.confirmed, row.behind.confirmation_spoiled);
    assert_eq!(spoiled, (Some(false), true));
    let latency_ns = row.behind.lower_latency_ns.unwrap();
    assert!(
        latency_ns < 10_000_000,
        "of trials that meet it: {latency_ns}"
    );
    let answer = &report.answer[0];
    let nginx = answer.split("; ").next().unwrap();
    assert!(nginx.starts_with("nginx-default carries 7,"), "{nginx}");
    let why =
        "(generator-limited: the load engine was too late or too busy in the confirming trials)";
    assert!(nginx.ends_with(why), "{nginx}");
    assert!(row.upper_per_s.is_some(), "{row:#?}");
}

/// A server that waits for 20 ms and works for so many of 1,000: its 100 connections are taken at
/// 5,000/s.
fn waits(record: &mut Record, contender: &str, busy: f64) {
    for trial in &mut record.trials {
        let (LoadModel::Open { rate_per_s, .. }, true) =
            (&trial.load.model, trial.contender == contender)
        else {
            continue;
        };
        let length_s = trial.load.duration_s;
        let result = trial.result.as_mut().unwrap();
        let in_flight = (rate_per_s * 0.02).min(100.0) as u64;
        result.observed.in_flight.counts = vec![in_flight; 100];
        result.service.record_n(20_000_000, result.requests.ok);
        let tick = |at_s: f64| TreeTick {
            at_s,
            cpu_user_s: at_s * busy,
            ..TreeTick::default()
        };
        trial.usage = Usage {
            trees: vec![TreeUsage {
                role: Role::Server,
                cpu_source: "cgroup".to_owned(),
                ended: Some(Vec::new()),
                ticks: vec![tick(0.0), tick(length_s)],
            }],
            ..Usage::default()
        };
    }
}

#[test]
fn a_bound_of_the_connections_is_not_the_servers() {
    let capacities = [("nginx-default", 5_000.0), ("caddy-default", 3_100.0)];
    let mut record = carried_out(&capacities);
    waits(&mut record, "nginx-default", 0.1);
    let report = view(record);
    let row = &report.rows[0];
    assert_eq!(row.irregular.map(|it| it.name()), Some("connections-taken"));
    assert_eq!(row.upper_per_s, None);
    let answer = &report.answer[0];
    let nginx = answer.split("; ").next().unwrap();
    assert!(
        nginx.starts_with("nginx-default carries at least 4,") || nginx.contains("at least 5,"),
        "{nginx}"
    );
    let taken = "all 100 connections were taken, while the server was 10 % busy";
    assert!(nginx.contains(taken), "{nginx}");
    // It carries more than one that is at its own end for certain, and how much more is not known.
    let more = |line: &String| line.starts_with("nginx-default carries at least 1.");
    assert!(
        report
            .answer
            .iter()
            .any(|line| more(line) && line.contains("times as much"))
    );
    for document in [
        report.text(TextOptions {
            width: 400,
            ..OPTIONS
        }),
        report.markdown(false),
        report.csv(),
        report.html(),
        report.json(),
    ] {
        assert!(document.contains("connections-taken"), "{document}");
    }
    assert!(report.json().contains("take a higher -c"));
    assert!(report.why_not_valid(true).is_some());
    // One that works all the time is at its end.
    let mut record = carried_out(&capacities);
    waits(&mut record, "nginx-default", 0.97);
    assert_eq!(view(record).rows[0].irregular, None);
}

/// The answer was silent about a hypervisor that disturbed twelve trials of thirty.
#[test]
fn disturbed_trials_that_count_are_said() {
    let capacities = [("nginx-default", 7_450.0), ("caddy-default", 3_100.0)];
    let said = |disturbed: usize| {
        let mut record = carried_out(&capacities);
        let own = record.trials.iter_mut();
        let own = own.filter(|it| it.contender == "nginx-default");
        // The first is the closed loop.
        for trial in own.skip(1).take(disturbed) {
            trial.doubted = Some(vec![Disturbance::Steal]);
        }
        let answer = view(record).answer;
        let lines = answer.into_iter().filter(|line| line.contains("disturbed"));
        lines.collect::<Vec<String>>()
    };
    assert_eq!(said(4), Vec::<String>::new(), "they are set aside");
    let lines = said(8);
    assert_eq!(lines.len(), 1, "for both goals: {lines:?}");
    let line = &lines[0];
    let said = "nginx-default at synthetic were disturbed, most by the hypervisor. 4 of them count";
    assert!(line.starts_with("8 of ") && line.contains(said), "{line}");
}

/// 7,450/s was confirmed beside a p99 of 50 ms at nine tenths of it.
#[test]
fn a_bound_that_its_curve_refutes_is_not_stated() {
    let mut record = carried_out(&[("nginx-default", 7_450.0), ("caddy-default", 3_100.0)]);
    let mut missed_per_s = f64::MAX;
    for trial in &mut record.trials {
        let name = trial.load_name.as_deref().unwrap_or_default();
        if trial.contender == "nginx-default" && name.ends_with("-at90") {
            let result = trial.result.as_mut().unwrap();
            result.latency.record_n(50_000_000, result.requests.ok);
            missed_per_s = result.requests.ok as f64 / result.measured_s;
        }
    }
    let report = view(record);
    let row = &report.rows[0];
    assert!(
        row.lower_per_s
            .is_none_or(|lower| lower < 0.99 * missed_per_s)
    );
    assert_ne!(row.confirmed, Some(true));
    assert!(row.irregular.is_some() && !row.trust.lower, "{row:#?}");
    let text = report.text(OPTIONS);
    let said = "nginx-default, p99<10ms, at most 0.001 % failed: lower bound no";
    assert!(text.contains(said), "{text}");
    assert!(!row.curve.is_empty(), "what was measured is shown");
}

/// Trials that confirm show less than those of the search did, and the bound is lowered.
#[test]
fn a_lowered_bound_says_from_what() {
    let mut record = carried_out(&[("nginx-default", 7_450.0), ("caddy-default", 3_100.0)]);
    let is_confirming = |trial: &TrialRecord| {
        let name = trial.load_name.as_deref().unwrap_or_default();
        trial.contender == "nginx-default" && name.ends_with("-confirm")
    };
    let first = record.trials.iter().position(is_confirming).unwrap();
    let pattern = record.trials[first].clone();
    let after = |trial: &TrialRecord| !trial.load_name.as_deref().unwrap_or("").contains("-at");
    record.trials.retain(|it| !is_confirming(it) && after(it));
    while let Some((label, number, step)) = {
        let all = quests(&record.plan, &record.trials);
        let quest = all.iter().find(|it| it.contender.name == "nginx-default");
        quest.and_then(|it| Some((it.load.label(), it.ended() + 1, it.progress.next()?)))
    } {
        let mut trial = trial(&pattern, &step, 7_350.0);
        trial.id = format!("n{number}-nginx-default-synthetic-{label}");
        trial.load_name = Some(step.purpose.load_name(&label));
        record.trials.push(trial);
    }
    let report = view(record);
    let row = &report.rows[0];
    assert_eq!(row.irregular, None, "{:?}", row.why);
    assert_eq!(row.behind.lowered_from_per_s, Some(7_450.0));
    let nginx = report.answer[0].split("; ").next().unwrap();
    let said = "lowered from 7,450, because trials there or below missed the goal";
    assert!(nginx.ends_with(said), "{nginx}");
    let csv = report.csv();
    let (columns, first) = (csv.lines().next().unwrap(), csv.lines().nth(1).unwrap());
    assert!(columns.contains(",lowered_from_per_s,"), "{columns}");
    assert!(first.contains(",7450,"), "{first}");
}

#[test]
fn a_point_of_the_curve_that_was_lost_says_why() {
    let mut record = carried_out(&[("nginx-default", 7_450.0), ("caddy-default", 3_100.0)]);
    let is_at_half = |trial: &&mut TrialRecord| {
        let name = trial.load_name.as_deref().unwrap_or_default();
        trial.contender == "nginx-default" && name.ends_with("-at50")
    };
    let half = record.trials.iter_mut().find(is_at_half).unwrap();
    half.end = TrialEnd::failed(bakeoff_record::Step::Start, "port 9001 is taken");
    half.result = None;
    let report = view(record);
    let point = &report.rows[0].curve[0];
    assert_eq!((point.share, point.count), (0.5, None));
    let text = report.text(OPTIONS);
    let said = "nginx-default, synthetic, at 50 %: port 9001 is taken";
    assert!(text.contains(said), "{text}");
    assert!(report.markdown(false).contains(said));
    // It is no point of the picture: 50 % of the bound is at no place on its axis.
    let rate = "3,725";
    assert!(text.contains(rate) && !picture_of(&report, "nginx-default").contains(rate));
}

/// The picture of a contender, as the page has it.
fn picture_of(report: &FindReport, contender: &str) -> String {
    let html = report.html();
    let mut pictures = html.split("<svg ").skip(1);
    let named = pictures.find(|it| it.contains(&format!(">{contender}, ")));
    let picture = named.unwrap().split("</svg>").next().unwrap();
    picture.to_owned()
}

#[test]
fn a_goal_that_no_rate_meets_is_missed() {
    let mut record = carried_out(&[("nginx-default", 7_450.0), ("caddy-default", 3_100.0)]);
    record.trials.retain(|it| {
        it.load_name
            .as_deref()
            .is_some_and(|it| it.ends_with("-closed"))
    });
    // Then every rate down to the lowest is too slow.
    let pattern = record.trials[0].clone();
    loop {
        let all = quests(&record.plan, &record.trials);
        let open = all.iter().filter_map(|it| Some((it, it.progress.next()?)));
        let Some((quest, step)) = open.min_by_key(|(quest, _)| quest.ended()) else {
            break;
        };
        let label = quest.load.label();
        let mut trial = trial(&pattern, &step, 0.001);
        trial.id = format!("n{}-{}-{label}", quest.ended() + 1, quest.contender.name);
        trial.contender.clone_from(&quest.contender.name);
        trial.load_name = Some(step.purpose.load_name(&label));
        record.trials.push(trial);
    }
    let answer = view(record).answer;
    let missed = "nginx-default misses the goal of p99 below 10 ms and at most 0.001 % failed at \
                  every rate tried (no-lower: missed at ";
    assert!(answer[0].starts_with(missed), "{}", answer[0]);
    let other = "; caddy-default misses the goal at every rate tried (no-lower: ";
    assert!(answer[0].contains(other), "{}", answer[0]);
}

#[test]
fn a_search_that_is_not_over_says_so() {
    let mut record = carried_out(&[("nginx-default", 7_450.0), ("caddy-default", 3_100.0)]);
    record.trials.truncate(8);
    let report = view(record);
    assert!(
        report.answer[0].contains("(unfinished)"),
        "{}",
        report.answer[0]
    );
    let row = &report.rows[0];
    assert_eq!((row.lower_per_s, row.confirmed), (None, None));
    assert!(report.why_not_valid(true).is_some());
}

/// Where trials were used up, more time goes on with nothing.
#[test]
fn only_a_search_that_time_ended_takes_more_time() {
    let capacities = [("nginx-default", 7_450.0), ("caddy-default", 3_100.0)];
    let mut record = carried_out(&capacities);
    let is_confirming = |trial: &TrialRecord| {
        let name = trial.load_name.as_deref().unwrap_or_default();
        name.contains("-confirm") || name.contains("-at")
    };
    record.trials.retain(|trial| !is_confirming(trial));
    let spent = |record: &Record| {
        let mut record = record.clone();
        record.plan.loads[0].set_budget(Duration::from_secs(60));
        let mut report = view(record);
        report.rows.truncate(1);
        let irregular = report.rows[0].irregular;
        assert_eq!(irregular.map(|it| it.name()), Some("budget"));
        let flags = report.flags_to_go_on();
        flags.is_some_and(|flags| flags.contains("--budget"))
    };
    assert!(spent(&record));
    let pattern = record.trials[0].clone();
    for number in 0..TRIALS_MAX {
        let id = format!("x{number}");
        let pattern = pattern.clone();
        record.trials.push(TrialRecord { id, ..pattern });
    }
    assert!(!spent(&record));
}

#[test]
fn names_cannot_leave_their_place_in_any_format() {
    let mut record = carried_out(&[("nginx-default", 7_450.0), ("caddy-default", 3_100.0)]);
    let hostile = "<b>\u{1b}[31m|=1+1";
    for contender in &mut record.plan.contenders {
        if contender.name == "nginx-default" {
            contender.name = hostile.to_owned();
        }
    }
    for trial in &mut record.trials {
        if trial.contender == "nginx-default" {
            trial.contender = hostile.to_owned();
        }
    }
    let report = view(record);
    assert!(!report.text(OPTIONS).contains('\u{1b}'));
    let html = report.html();
    assert!(
        !html.contains("<b>\u{1b}") && !html.contains("<b>|"),
        "{html}"
    );
    assert!(!report.csv().contains('\u{1b}'));
    assert!(!report.markdown(true).contains('\u{1b}'));
}

#[test]
fn a_site_ranks_searches_by_their_bounds() {
    let capacities = [("nginx-default", 7_450.0), ("caddy-default", 3_100.0)];
    let record = carried_out(&capacities);
    let options = SiteOptions {
        title: "Searches".into(),
        url: None,
    };
    let (facts, files) = site_record(&Redacted::shared(record), &options);
    let page = files.iter().find(|it| it.path.ends_with("/index.html"));
    let page = String::from_utf8_lossy(&page.unwrap().bytes).into_owned();
    assert!(page.contains("href=\"../../index.html\""), "{page}");
    let files = site_files(vec![facts], &options);
    let index = files.iter().find(|it| it.path == "index.html");
    let index = String::from_utf8_lossy(&index.unwrap().bytes).into_owned();
    assert!(
        index.contains("<span class=\"good\">4 confirmed</span>"),
        "{index}"
    );
    let rankings: Vec<&str> = index.split("<details").skip(1).collect();
    assert_eq!(rankings.len(), 2, "one for each goal");
    for ranking in rankings {
        assert!(ranking.contains("highest rate with p99"), "{ranking}");
        let places = [
            "<tr><td>1</td><th scope=\"row\">nginx",
            "<tr><td>2</td><th scope=\"row\">caddy",
        ];
        let found = places.map(|place| ranking.find(place));
        assert!(found[0].is_some() && found[0] < found[1], "{ranking}");
    }
}
