//! What the view model says of campaigns that differ in one thing.

use bakeoff_audit::Verdict;
use bakeoff_plan::LoadModel;
use bakeoff_record::{Histogram, Hosts, OutcomeCounts, Record, Step, TrialEnd, TrialRecord};
use bakeoff_report::view::{Cell, Comparison, Conclusion, Report, view};
use bakeoff_report::{MarkdownOptions, TextOptions};
use bakeoff_stats::{IntervalKind, Metric};

const WIDE: TextOptions = TextOptions {
    width: 200,
    colour: false,
    full: true,
    diffs: false,
    record: None,
    needed_again: None,
};
const FULL: MarkdownOptions = MarkdownOptions { full: true };

fn cell<'report>(
    report: &'report Report,
    contender: &str,
    workload: &str,
    load: &str,
) -> &'report Cell {
    let key = (contender, workload, load);
    let same = |cell: &&Cell| {
        (
            cell.contender.as_str(),
            cell.workload.as_str(),
            cell.load.as_str(),
        ) == key
    };
    report
        .cells
        .iter()
        .find(same)
        .expect("the campaign has this cell")
}

fn comparison<'report>(report: &'report Report, first: &str, second: &str) -> &'report Comparison {
    let same = |one: &&Comparison| {
        (one.workload.as_str(), one.load.as_str()) == ("synthetic", "c10")
            && (one.first.as_str(), one.second.as_str()) == (first, second)
            && one.metric == bakeoff_audit::Metric::RatePerS
    };
    report
        .comparisons
        .iter()
        .find(same)
        .expect("the campaign has this pair")
}

/// The campaign with something done to the trials of one contender at `synthetic`, `c10`.
fn with(rounds: u32, contender: &str, change: impl Fn(&mut bakeoff_record::LoadResult)) -> Record {
    let mut record = bakeoff_testing::record_of_rounds(rounds);
    let place = format!("-{contender}-synthetic-c10");
    for trial in record
        .trials
        .iter_mut()
        .filter(|trial| trial.id.ends_with(&place))
    {
        change(trial.result.as_mut().expect("these trials are measured"));
    }
    record
}

#[test]
fn three_rounds_have_a_range_and_captions_go_by_the_rounds_measured() {
    let report = view(&bakeoff_testing::record());
    let rate = cell(&report, "nginx-default", "synthetic", "c10").estimate(Metric::RatePerS);
    assert_eq!(
        rate.map(|rate| (rate.interval, rate.n)),
        Some((IntervalKind::Range, 3))
    );
    let pair = comparison(&report, "nginx-default", "caddy-default");
    assert!(pair.ratio.is_some_and(|ratio| ratio.point < 0.5));
    let caption = &report.campaign.caption;
    assert!(
        caption.starts_with("Each number is the median of 2 to 3 rounds"),
        "{caption}"
    );
    assert!(caption.contains("smallest to largest round"), "{caption}");
}

#[test]
fn ten_rounds_have_an_interval_and_show_a_large_difference_only() {
    let report = view(&bakeoff_testing::record_of_rounds(10));
    let rate = cell(&report, "nginx-default", "synthetic", "c10").estimate(Metric::RatePerS);
    assert_eq!(
        rate.map(|rate| rate.interval),
        Some(IntervalKind::MedianConfidence95)
    );
    assert_eq!(
        comparison(&report, "nginx-default", "caddy-default").conclusion,
        Conclusion::Lower
    );
    let alike = comparison(&report, "nginx-default", "nginx-optimized");
    let equal = [Conclusion::Equal, Conclusion::NoDifferenceShown];
    assert!(equal.contains(&alike.conclusion), "{alike:?}");
}

#[test]
fn a_suspect_cell_is_shown_and_not_ranked() {
    let record = with(10, "caddy-default", |result| result.bodies_checked = 0);
    let report = view(&record);
    assert!(
        cell(&report, "caddy-default", "synthetic", "c10")
            .estimate(Metric::RatePerS)
            .is_some()
    );
    let pair = comparison(&report, "nginx-default", "caddy-default");
    assert_eq!(
        (pair.conclusion, pair.ratio.is_some()),
        (Conclusion::NotComparable, true)
    );
}

#[test]
fn numbers_of_an_invalid_cell_are_withheld_and_say_why() {
    let record = with(3, "caddy-default", |result| result.requests.started += 1);
    let report = view(&record);
    let cell = cell(&report, "caddy-default", "synthetic", "c10");
    assert!(cell.estimate(Metric::LatencyP50Ns).is_none());
    assert!(cell.missing[&Metric::LatencyP50Ns].starts_with("withheld: counts contradict"));
    assert!(
        cell.estimate(Metric::MemoryPeakBytes).is_some(),
        "what rests on no count stays"
    );
    let pair = comparison(&report, "nginx-default", "caddy-default");
    assert_eq!(pair.conclusion, Conclusion::NotComparable);
    assert_eq!(pair.ratio, None);
}

#[test]
fn without_an_ok_response_there_is_no_latency_but_a_reason() {
    let record = with(3, "nginx-default", |result| {
        let failed = result.requests.completed;
        result.requests.ok = 0;
        result.latency = Histogram::new();
        result.outcomes = OutcomeCounts::default();
        result
            .outcomes
            .add_many(bakeoff_record::Outcome::Refused, failed);
        let refused = result
            .error_latencies
            .entry(bakeoff_record::Outcome::Refused);
        refused.or_default().record_n(1_085_000, failed);
    });
    let report = view(&record);
    let cell = cell(&report, "nginx-default", "synthetic", "c10");
    assert_eq!(cell.error_share, Some(1.0));
    assert_eq!(cell.missing[&Metric::LatencyP50Ns], "no ok response");
    assert_eq!(
        cell.estimate(Metric::RatePerS).map(|rate| rate.point),
        Some(0.0)
    );
    let pair = comparison(&report, "nginx-default", "nginx-optimized");
    assert_eq!(pair.conclusion, Conclusion::NotComparable);
}

#[test]
fn a_percentile_that_requests_without_an_end_could_move_is_a_lower_bound() {
    let stopped = with(10, "caddy-default", |result| {
        let ok = result.requests.ok;
        result.at_least.record_n(486_000_000, ok / 50);
    });
    let report = view(&stopped);
    let found = cell(&report, "caddy-default", "synthetic", "c10");
    assert!(found.estimate(Metric::LatencyP50Ns).is_some());
    assert!(found.estimate(Metric::LatencyP99Ns).is_none());
    let bound = found.at_least(Metric::LatencyP99Ns).unwrap();
    assert!((bound / 486e6 - 1.0).abs() < 0.01, "{bound}");
    let reason = &found.missing[&Metric::LatencyP99Ns];
    assert!(reason.starts_with("at least 48"), "{reason}");
    assert!(reason.ends_with(" requests had no end"), "{reason}");
    let p99 = |one: &&Comparison| {
        one.metric == bakeoff_audit::Metric::LatencyP99Ns
            && (one.first.as_str(), one.second.as_str()) == ("nginx-default", "caddy-default")
            && (one.workload.as_str(), one.load.as_str()) == ("synthetic", "c10")
    };
    let pair = report.comparisons.iter().find(p99).unwrap();
    assert_eq!(pair.conclusion, Conclusion::NotCompared);
    let text = bakeoff_report::text(&report, WIDE);
    assert!(text.contains(">= 48"), "{text}");
}

#[test]
fn what_a_closed_loop_has_in_flight_at_its_end_is_no_longer_than_usual() {
    let usual = with(3, "caddy-default", |result| {
        let median = result.latency.quantile(0.5).unwrap();
        result.at_least.record_n(median, result.requests.ok / 50);
    });
    let report = view(&usual);
    let found = cell(&report, "caddy-default", "synthetic", "c10");
    assert!(found.at_least.is_empty(), "{:?}", found.at_least);
    let open = with(3, "caddy-default", |result| {
        let median = result.latency.quantile(0.5).unwrap();
        result.at_least.record_n(median, result.requests.ok / 50);
        result.load.model = bakeoff_plan::LoadModel::Open {
            rate_per_s: 500.0,
            arrival: bakeoff_plan::Arrival::Poisson,
            clients: 10,
        };
    });
    let report = view(&open);
    let found = cell(&report, "caddy-default", "synthetic", "c10");
    assert!(found.at_least(Metric::LatencyP99Ns).is_some());
}

#[test]
fn success_in_an_open_loop_is_a_share_of_what_was_due() {
    let unanswered = with(3, "caddy-default", |result| {
        result.requests.due = Some(result.requests.ok * 4);
        result.requests.unended = Some(result.requests.ok * 3);
    });
    let report = view(&unanswered);
    let found = cell(&report, "caddy-default", "synthetic", "c10");
    assert_eq!(found.error_share, Some(0.75));
    assert!(
        found.estimate(Metric::ErrorShare).is_none(),
        "there is one error share"
    );
    let text = bakeoff_report::text(&report, WIDE);
    assert!(text.contains(" without an end (75.00 %)"), "{text}");
}

#[test]
fn latencies_beyond_the_range_are_reported() {
    let slow = with(3, "caddy-default", |result| {
        result.latency.record(1 << 43);
        result.requests.ok += 1;
    });
    let report = view(&slow);
    let found = cell(&report, "caddy-default", "synthetic", "c10");
    assert_eq!(found.over_range, 3);
    let text = bakeoff_report::text(&report, WIDE);
    assert!(text.contains("3 responses over 73 minutes"), "{text}");
}

#[test]
fn cells_come_in_the_order_of_the_plan_and_references_last() {
    let report = view(&bakeoff_testing::record());
    let names: Vec<&str> = report
        .cells
        .iter()
        .filter(|cell| (cell.workload.as_str(), cell.load.as_str()) == ("proxy", "c200"))
        .map(|cell| cell.contender.as_str())
        .collect();
    let expected = [
        "nginx-default",
        "nginx-optimized",
        "caddy-default",
        "origin",
        "yardstick",
    ];
    assert_eq!(names, expected);
}

#[test]
fn of_two_records_of_one_trial_the_later_counts() {
    let mut record = bakeoff_testing::record();
    let mut again = record.trials[0].clone();
    again.result.as_mut().expect("it was measured").requests.ok = 5;
    record.trials.push(again);
    let report = view(&record);
    assert_eq!(report.trials.len(), record.trials.len() - 1);
    assert_eq!(
        report.trials[0]
            .requests
            .as_ref()
            .map(|requests| requests.ok),
        Some(5)
    );
}

#[test]
fn a_record_without_trials_can_be_drawn_in_every_format() {
    let mut record = bakeoff_testing::record();
    record.trials.clear();
    let report = view(&record);
    assert!(bakeoff_report::text(&report, WIDE).contains("Nothing was measured"));
    assert!(bakeoff_report::markdown(&report, FULL).contains("Nothing was measured"));
    assert!(bakeoff_report::html(&report).contains("othing was measured"));
    assert_eq!(bakeoff_report::csv(&report).lines().count(), 1);
    assert!(bakeoff_report::json(&report).contains("\"cells\":[]"));
}

#[test]
fn a_reason_that_cells_share_is_reported_once() {
    let mut record = bakeoff_testing::record();
    let caddys = record
        .trials
        .iter_mut()
        .filter(|trial| trial.contender == "caddy-default" && trial.workload != "proxy");
    for trial in caddys {
        trial.result = None;
        trial.end = TrialEnd::Unsupported {
            reason: "it forwards".into(),
        };
    }
    let report = view(&record);
    let reported: Vec<_> = report
        .lost
        .iter()
        .filter(|lost| lost.text.contains("it forwards"))
        .collect();
    let [lost] = reported[..] else {
        panic!("reported {} times", reported.len());
    };
    assert_eq!(lost.rounds, [1, 2, 3]);
    let cells = |of: &str| lost.cells.iter().filter(|cell| cell.load == of).count();
    assert!(cells("c10") > 0 && cells("c10") == cells("c200"));
    let page = bakeoff_report::markdown(&report, FULL);
    assert!(
        page.contains("- caddy-default: unsupported (round 1, 2, 3): it forwards; c10: synthetic"),
        "{page}"
    );
}

#[test]
fn unequal_work_stands_beside_a_comparison_as_a_possible_cause() {
    let report = view(&bakeoff_testing::record_of_rounds(10));
    let of_proxy = |first: &str, second: &str| {
        let is_it = |one: &&Comparison| {
            (one.workload.as_str(), one.load.as_str()) == ("proxy", "c10")
                && (one.first.as_str(), one.second.as_str()) == (first, second)
                && one.metric == bakeoff_audit::Metric::RatePerS
        };
        let found = report.comparisons.iter().find(is_it);
        found.expect("the campaign has this pair")
    };
    let unequal = of_proxy("nginx-default", "caddy-default");
    assert!(unequal.ratio.is_some(), "the ratio stands");
    let checks = unequal.basis.unequal.iter();
    let codes: Vec<&str> = checks.map(|check| check.code.name()).collect();
    assert_eq!(
        codes,
        ["equal-upstream-version", "equal-upstream-connections"]
    );
    // Without these facts every cell is the same.
    let mut without = bakeoff_testing::record_of_rounds(10);
    without
        .trials
        .iter_mut()
        .for_each(|trial| trial.work = None);
    assert_eq!(view(&without).cells, report.cells);
    assert!(
        comparison(&report, "nginx-default", "caddy-default")
            .basis
            .unequal
            .is_empty()
    );
    let reported = |sentence: &&bakeoff_report::view::Sentence| {
        sentence.text.starts_with("Unequal work in proxy: ")
    };
    assert_eq!(report.summary.iter().filter(reported).count(), 2);
}

#[test]
fn unequal_work_is_reported_once_when_the_second_of_a_pair_is_observed() {
    let record = bakeoff_testing::record();
    let mut unequal = bakeoff_report::UnequalWork::new(record.plan.clone(), &[]);
    let observed = |id: &str| {
        let mut trial = record.trials.iter().find(|trial| trial.id == id).cloned();
        if let Some(trial) = &mut trial {
            trial.result = None;
        }
        trial.expect("the campaign has this trial")
    };
    let mut reported = |id: &str| unequal.observed(&observed(id));
    assert!(reported("r1-nginx-default-proxy-c10").is_empty());
    let lines = reported("r1-nginx-optimized-proxy-c10");
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("unequal work, proxy: equal-upstream-version (R16)"));
    assert!(lines[0].ends_with("to change in nginx-default (nginx): proxy_http_version 1.1;"));
    assert!(reported("r1-nginx-default-proxy-c200").is_empty());
    assert!(reported("r2-nginx-optimized-proxy-c200").is_empty());
    // A third contender makes new pairs.
    assert_eq!(reported("r1-caddy-default-proxy-c10").len(), 2);
    assert!(reported("r1-caddy-default-synthetic-c10").is_empty());
}

#[test]
fn a_difference_is_a_share_of_its_base_and_reported_both_ways() {
    let report = view(&bakeoff_testing::record_at_constant_rate());
    let share = |base: &str, other: &str, load: &str| {
        let found = report.differences.iter().find(|it| {
            let names = (it.base.as_str(), it.other.as_str());
            names == (base, other) && it.workload == "synthetic" && it.load == load
        });
        let found = found.expect("the campaign has this pair");
        (found.shares[&Metric::LatencyP50Ns], &found.missing)
    };
    let (count, time) = ("r500-c10-n2500", "r500-c200");
    let (more, _) = share("nginx-default", "caddy-default", count);
    let (less, _) = share("caddy-default", "nginx-default", count);
    let (more, less) = (more.expect("a value"), less.expect("a value"));
    assert!(more.point > 0.0 && less.point < 0.0, "{more:?}, {less:?}");
    assert!(((1.0 + more.point) * (1.0 + less.point) - 1.0).abs() < 1e-9);
    assert!(((1.0 + more.low) * (1.0 + less.high) - 1.0).abs() < 1e-9);
    let (none, missing) = share("nginx-default", "caddy-default", time);
    assert_eq!(none, None);
    assert!(missing[&Metric::LatencyP50Ns].starts_with("error shares differ"));
}

#[test]
fn vegetas_form_withholds_what_rests_on_the_timing_of_an_invalid_cell() {
    let mut record = bakeoff_testing::record_at_constant_rate();
    for trial in &mut record.trials {
        if trial.id.ends_with("-caddy-default-synthetic-r500-c200") {
            let result = trial.result.as_mut().expect("these trials are measured");
            result.requests.started += 1;
        }
    }
    let report = view(&record);
    let cell = cell(&report, "caddy-default", "synthetic", "r500-c200");
    let vegeta = cell.vegeta.as_ref().expect("its gaps are equal");
    assert_eq!(vegeta.latencies.max_ns, None);
    assert!(vegeta.missing["max_ns"].starts_with("withheld: counts contradict"));
    assert_eq!(vegeta.requests.total, Some(2500.0));
    let against = |it: &&bakeoff_report::view::Difference| {
        it.other == cell.contender && it.workload == cell.workload && it.load == cell.load
    };
    let withheld = report.differences.iter().find(against);
    let withheld = withheld.expect("it is reported all the same");
    assert!(withheld.shares.values().all(Option::is_none));
    assert!(withheld.missing[&Metric::RatePerS].contains("invalid cell"));
}

#[test]
fn links_between_hosts_stand_in_the_report_with_both_measurements() {
    let mut record = bakeoff_testing::record();
    bakeoff_testing::measure_links(&mut record);
    let report = view(&record);
    let links = &report.campaign.links;
    assert_eq!(links.len(), 2, "once each, however many trials: {links:#?}");
    assert_eq!(
        (links[0].after_bits_per_s, links[0].changed),
        (Some(80e6), Some(true))
    );
    assert_eq!((links[1].after_bits_per_s, links[1].changed), (None, None));
    let text = bakeoff_report::text(&report, WIDE);
    for expected in [
        "96.0 Mbit/s",
        "80.0 Mbit/s",
        "changed: -16.7 %",
        ">= 9.50 Gbit/s",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let short = bakeoff_report::markdown(&report, MarkdownOptions { full: false });
    assert!(short.contains("Links between hosts"), "{short}");
    let alone = bakeoff_report::text(&view(&bakeoff_testing::record()), WIDE);
    assert!(!alone.contains("Links between hosts"));
}

#[test]
fn the_command_that_goes_on_has_the_hosts_and_what_else_it_needs() {
    let mut record = bakeoff_testing::campaign(4);
    bakeoff_testing::waver(&mut record, "caddy-default");
    let check = |record: &Record, needed_again, expected: &str| {
        let options = TextOptions {
            record: Some("my record"),
            needed_again,
            ..WIDE
        };
        let text = bakeoff_report::text(&view(record), options);
        let next = text.lines().find(|line| line.starts_with("next: "));
        let (command, takes) = next
            .and_then(|line| line.split_once("  # "))
            .expect("it goes on");
        let rounds = command.split(" --rounds ").nth(1).unwrap_or_default();
        let rounds = rounds.split(' ').next().unwrap_or_default();
        assert!(rounds.parse::<u32>().is_ok_and(|it| it > 4), "{text}");
        let command = command.replace(&format!(" --rounds {rounds}"), " --rounds N");
        assert_eq!(command, expected, "{text}");
        assert!(takes.starts_with("about "), "{text}");
    };
    let plain = "next: bakeoff run --resume 'my record' --rounds N";
    check(&record, None, plain);
    check(&record, Some(""), plain);
    let library = " --library RECORD";
    check(&record, Some(library), &format!("{plain}{library}"));
    record.trials[0].hosts = Some(Hosts::default());
    check(&record, None, &format!("{plain} --hosts FILE"));
    let hosts = " --hosts lab.toml --library own";
    check(&record, Some(hosts), &format!("{plain}{hosts}"));
}

#[test]
fn loads_of_slow_rates_have_names_of_their_own() {
    let mut record = bakeoff_testing::record_at_constant_rate();
    let mut slow = record.plan.loads[0].clone();
    let mut rates = vec![];
    for rate in [1.6, 2.4, 50.0] {
        if let LoadModel::Open { rate_per_s, .. } = &mut slow.model {
            *rate_per_s = rate;
        }
        rates.push(slow.clone());
    }
    record.plan.loads = rates;
    let loads = view(&record).campaign.loads;
    let short = loads.iter().map(|load| load.short.as_str());
    let short: Vec<&str> = short.filter(|short| short.contains("/s")).collect();
    assert!(short.starts_with(&["1.6/s", "2.4/s", "50/s"]), "{short:?}");
}

#[test]
fn a_server_that_gives_no_answer_after_its_load_is_named_in_the_short_text() {
    let mut record = bakeoff_testing::record_of_rounds(1);
    bakeoff_testing::answer_late(&mut record, "nginx-default");
    let short = TextOptions {
        full: false,
        ..WIDE
    };
    let said = |text: &str| {
        let lines = text.lines().filter(|it| it.contains("slow to recover"));
        lines.map(str::trim).map(str::to_owned).collect::<Vec<_>>()
    };
    let lines = said(&bakeoff_report::text(&view(&record), short));
    assert!(!lines.is_empty());
    for line in &lines {
        let is_named = line.starts_with("! nginx-default at ") && line.contains("30.0 s");
        assert!(is_named, "{line}");
    }
    // The page and scripts have the same sentences, and all of them.
    let late = view(&record).answer.late;
    assert!(late.len() >= lines.len(), "{late:?}");
    for line in &lines {
        assert!(late.iter().any(|it| line.ends_with(it)), "{line}: {late:?}");
    }
    assert!(
        view(&bakeoff_testing::record_of_rounds(1))
            .answer
            .late
            .is_empty()
    );
    let calm = bakeoff_report::text(&view(&bakeoff_testing::record_of_rounds(1)), short);
    assert_eq!(said(&calm), Vec::<String>::new());
}

#[test]
fn contenders_that_did_not_do_their_work_are_named() {
    let calm = bakeoff_testing::at_one_load(bakeoff_testing::record_of_rounds(7));
    let failing = |change: fn(&mut TrialRecord), rounds: usize| {
        let mut record = calm.clone();
        let mine = record.trials.iter_mut();
        let mine = mine.filter(|trial| trial.contender == "nginx-optimized");
        mine.take(rounds).for_each(change);
        view(&record).answer.failing
    };
    let die: fn(&mut TrialRecord) = |trial| {
        trial.end = TrialEnd::failed(Step::Measure, "the server died");
    };
    let disturb = |trial: &mut TrialRecord| {
        for tick in &mut trial.usage.host {
            tick.cpus[0].steal += 0.3;
        }
    };
    let wrong: fn(&mut TrialRecord) = |trial| trial.answers[0].right = false;
    let interrupt: fn(&mut TrialRecord) = |trial| trial.end = TrialEnd::Interrupted;
    assert_eq!(failing(die, 0), Vec::<String>::new());
    let broken_off = |found: Vec<String>, says: &str| {
        let mut lines = found.iter();
        assert!(lines.any(|it| it.starts_with(says)), "{found:?}");
    };
    broken_off(
        failing(interrupt, 1),
        "The campaign was broken off: 1 trial was",
    );
    broken_off(
        failing(interrupt, 2),
        "The campaign was broken off: 2 trials were",
    );
    for (change, rounds, says) in [
        (die, 1, "the server died (in round 1)."),
        (die, 7, "failed at measure: the server died."),
        (wrong, 1, "the answer"),
    ] {
        let found = failing(change, rounds);
        let is_named = found.len() == 1 && found[0].starts_with("nginx-optimized at synthetic, ");
        assert!(is_named && found[0].contains(says), "{found:?}");
    }
    // What the machine did is for a quieter one to tell.
    let mut record = calm.clone();
    record.trials.iter_mut().for_each(disturb);
    let report = view(&record);
    let weak = |cell: &Cell| cell.is_contender() && cell.verdicts.rate != Verdict::Valid;
    assert!(report.cells.iter().any(weak));
    assert_eq!(report.answer.failing, Vec::<String>::new());
}
