//! What further rounds are for: when a stopping rule goes on, and what is proposed afterwards.

use bakeoff_audit::{GateRow, Ruling, Verdict, compare_contenders, judge};
use bakeoff_plan::{Overrides, Plan, RoundsAsked, Until};
use bakeoff_record::{Outcome, Record, TrialEnd, TrialRecord};
use bakeoff_report::{
    Gates, MarkdownOptions, TextOptions, awaits_rounds, markdown, text, view, widest,
};

/// Three contenders at one workload and load that they all carry, in `n` rounds.
fn rounds(n: u32) -> Record {
    bakeoff_testing::at_one_load(bakeoff_testing::campaign(n))
}

/// The same where a rule decided when to stop.
fn ruled(n: u32, width: f64, max_rounds: u32) -> Record {
    let mut record = rounds(n);
    record.plan.rounds = 7;
    record.plan.until = Some(Until { width, max_rounds });
    record
}

/// The first rounds of a contender.
fn first<'r>(
    record: &'r mut Record,
    name: &'r str,
    rounds: u32,
) -> impl Iterator<Item = &'r mut TrialRecord> {
    let trials = record.trials.iter_mut();
    trials.filter(move |it| it.contender == name && it.round <= rounds)
}

/// Lets the hypervisor take a processor's time.
fn disturb(trial: &mut TrialRecord) {
    steal(trial, 0.3);
}

/// Lets the hypervisor take a share of a processor's time.
fn steal(trial: &mut TrialRecord, share: f64) {
    for tick in &mut trial.usage.host {
        tick.cpus[0].steal += share;
    }
}

/// Lets one request of two fail.
fn fail(trial: &mut TrialRecord) {
    let result = trial.result.as_mut().expect("it was measured");
    let failed = result.requests.ok / 2;
    result.requests.ok -= failed;
    result.outcomes.add_many(Outcome::Status, failed);
}

/// The first command line that is proposed, without what each has.
fn proposed(record: &Record) -> Option<String> {
    let next = view(record).answer.next;
    let flags = next.first()?.strip_prefix("bakeoff run --resume RECORD")?;
    Some(flags.to_owned())
}

/// The plan that goes on by these flags, as `bakeoff run --resume` makes it.
fn plan_after(plan: &Plan, flags: &str) -> Plan {
    let mut asked = RoundsAsked::default();
    let words: Vec<&str> = flags.split_whitespace().collect();
    for flag in words.chunks(2) {
        let number = flag[1].trim_end_matches('%');
        match flag[0] {
            "--rounds" => asked.number = number.parse().ok(),
            "--max-rounds" => asked.at_most = number.parse().ok(),
            "--until" => asked.until = number.parse().ok().map(|it: f64| it / 100.0),
            other => panic!("{other} is no flag of rounds"),
        }
    }
    let overrides = Overrides {
        rounds: asked,
        ..Overrides::default()
    };
    let rounds = asked.number.unwrap_or(plan.rounds);
    let plan = plan.clone().extended(rounds).with(&overrides);
    plan.expect("what is proposed is possible")
}

/// The same with two of the contenders.
fn two(mut record: Record) -> Record {
    let contenders = &mut record.plan.contenders;
    contenders.retain(|it| it.name != "nginx-optimized");
    record.trials.retain(|it| it.contender != "nginx-optimized");
    record
}

/// Two contenders whose ratio is 1.08 in the middle, and far from it in each round: twelve of them
/// do not decide it, and a few more do.
fn restless(max_rounds: u32) -> Record {
    let ratios = [
        0.97, 1.16, 0.99, 1.19, 0.94, 1.25, 1.01, 1.14, 0.96, 1.2, 1.0, 1.23,
    ];
    let mut record = two(ruled(12, 0.5, max_rounds));
    let alike: Vec<TrialRecord> = first(&mut record, "nginx-default", 12)
        .map(|it| it.clone())
        .collect();
    for trial in &mut record.trials {
        let place = trial.round as usize - 1;
        let ratio: f64 = ratios[place];
        let faster = match trial.contender.as_str() {
            "caddy-default" => {
                (trial.result, trial.usage) =
                    (alike[place].result.clone(), alike[place].usage.clone());
                ratio.max(1.0)
            }
            "nginx-default" | "nginx-default~" => ratio.recip().max(1.0),
            _ => continue,
        };
        trial.result.as_mut().expect("it was measured").measured_s /= faster;
    }
    record
}

fn rates(record: &Record) -> Vec<(String, Verdict)> {
    let judged = judge(record);
    let contenders = judged.cells.iter().filter(|one| {
        let mut plan = record.plan.contenders.iter();
        plan.any(|it| it.name == one.cell.key.contender)
    });
    let rate = contenders.map(|one| {
        let verdict = one.judgement.verdicts.rate;
        (one.cell.key.contender.clone(), verdict)
    });
    rate.collect()
}

/// A contender without enough undisturbed rounds is compared with nobody, so that its intervals
/// have no width: the others' would end the campaign.
#[test]
fn a_stopping_rule_waits_for_rounds_that_were_disturbed() {
    let mut record = ruled(10, 0.03, 40);
    assert!(widest(&record).is_some());
    first(&mut record, "caddy-default", 3).for_each(disturb);
    assert_eq!(widest(&record), None);
    // With most of them, too, as long as there may be more rounds.
    first(&mut record, "caddy-default", 6).for_each(disturb);
    assert_eq!(widest(&record), None);
    record
        .plan
        .until
        .as_mut()
        .expect("it has a rule")
        .max_rounds = 10;
    assert!(widest(&record).is_some());
    // With failures of its own it is not waited for.
    let mut record = ruled(10, 0.03, 40);
    first(&mut record, "caddy-default", 3).for_each(fail);
    assert!(widest(&record).is_some());
}

/// Lets the engine be at its limit, as it looks where the hypervisor took the yardstick's time.
fn fill(trial: &mut TrialRecord) {
    let result = trial.result.as_mut().expect("it was measured");
    result.engine.threads[0].cpu_s = 0.95 * result.measured_s;
    // The server had time to spare.
    trial.pinned.server = vec![0, 2];
}

/// What the second contender of a record is by a gate.
fn gated(record: &Record, gate: &str) -> GateRow {
    let gates = Gates::parse(gate).expect("it is a gate");
    let contenders = record.plan.contenders.iter();
    let names: Vec<&str> = contenders.map(|it| it.name.as_str()).collect();
    let rows = compare_contenders(record, &judge(record), names[0], &names[1..], &gates);
    let mut rows = rows.expect("both are there").into_iter();
    rows.find(|row| row.gate.is_some()).expect("a row")
}

/// One round that looked as if the engine were at its limit ended a race on a machine that took
/// other rounds: nothing seemed to be left that more rounds might bring.
#[test]
fn one_round_that_nothing_passing_explains_ends_no_campaign() {
    let of = |busy: std::ops::RangeInclusive<u32>| {
        let mut record = two(ruled(10, 0.03, 40));
        first(&mut record, "caddy-default", 3).for_each(disturb);
        first(&mut record, "caddy-default", 10)
            .filter(|it| busy.contains(&it.round))
            .for_each(fill);
        gated(&record, "rate=5%").rounds_enough
    };
    assert_eq!(of(9..=9), Some(12));
    // What the machine disturbed says nothing of the engine.
    assert_eq!(of(1..=3), Some(11));
    // So it is in each round that the machine left alone, and would be in further ones.
    assert_eq!(of(4..=10), None);
}

/// What undisturbed rounds show by themselves may breach a gate, and settles none: a race that
/// ended as soon as they do would breach more gates by chance (R26).
#[test]
fn a_race_waits_for_rounds_whatever_the_undisturbed_ones_show() {
    let mut rulings = Vec::new();
    for is_reversed in [false, true] {
        let mut record = two(ruled(24, 0.03, 40));
        first(&mut record, "caddy-default", 13).for_each(disturb);
        if is_reversed {
            record.plan.contenders.reverse();
        }
        let gated = gated(&record, "rate=5%");
        rulings.push(gated.ruling);
        assert_eq!(gated.settled_at, None, "{gated:?}");
    }
    rulings.sort_unstable();
    assert_eq!(rulings, [Ruling::CannotTell, Ruling::Breached]);
}

/// Nothing is left to be shown, or no round has both: a machine that becomes quiet brings it. Wrong
/// answers, and an engine that limits one side in every round, do not become better.
#[test]
fn a_race_waits_for_rounds_that_can_be_shown() {
    let look = |text: &str, spoil: fn(&mut Record)| {
        let mut record = two(ruled(10, 0.03, 40));
        spoil(&mut record);
        gated(&record, text).rounds_enough
    };
    let all = |record: &mut Record| first(record, "caddy-default", 10).for_each(disturb);
    assert!(look("rate=5%", all).is_some());
    let apart = |record: &mut Record| {
        first(record, "caddy-default", 5).for_each(disturb);
        let other = first(record, "nginx-default", 10);
        other.filter(|it| it.round > 5).for_each(disturb);
    };
    assert!(look("cpu=5%", apart).is_some());
    let wrong = |record: &mut Record| {
        first(record, "caddy-default", 10).for_each(disturb);
        first(record, "caddy-default", 1).for_each(|it| it.answers[0].right = false);
    };
    assert_eq!(look("rate=5%", wrong), None);
}

/// Going on as proposed keeps the rule by which added rounds make up for disturbed ones.
#[test]
fn what_is_proposed_after_a_stopping_rule_takes_no_verdict_away() {
    let spoil = |record: &mut Record| {
        first(record, "nginx-default", 4).for_each(disturb);
        first(record, "caddy-default", 5).for_each(disturb);
    };
    let mut record = ruled(12, 0.001, 12);
    spoil(&mut record);
    let valid =
        |record: &Record, name: &str| rates(record).contains(&(name.to_owned(), Verdict::Valid));
    assert!(valid(&record, "nginx-default"));
    assert!(!valid(&record, "caddy-default"));
    let flags = proposed(&record).expect("rounds are proposed");
    let plan = plan_after(&record.plan, &flags);
    let until = plan.until.expect("the rule is kept");
    assert!(until.max_rounds > 12, "{flags}");
    let mut longer = rounds(until.max_rounds);
    (longer.plan.rounds, longer.plan.until) = (plan.rounds, plan.until);
    spoil(&mut longer);
    assert!(valid(&longer, "nginx-default"), "{flags}");
    assert!(valid(&longer, "caddy-default"), "{flags}");
}

/// What the rule awaits comes by going on alone; what it has reached takes a narrower one.
#[test]
fn a_rule_that_ended_a_campaign_is_given_what_makes_it_go_on() {
    let mut waiting = ruled(10, 0.03, 40);
    first(&mut waiting, "caddy-default", 3).for_each(disturb);
    assert_eq!(proposed(&waiting).as_deref(), Some(""));
    for (max_rounds, is_longer) in [(40, false), (12, true)] {
        let record = restless(max_rounds);
        let reached = widest(&record).expect("it is compared");
        let Some(flags) = proposed(&record) else {
            panic!("{:#?}", view(&record).answer);
        };
        assert!(flags.contains("--until"), "{flags}");
        assert_eq!(flags.contains("--max-rounds"), is_longer, "{flags}");
        let until = plan_after(&record.plan, &flags).until.expect("it is kept");
        assert!(until.width < reached, "{flags} after {reached}");
    }
    // Without a rule as well, and a number is asked for where the plan has no more rounds.
    let mut record = rounds(10);
    first(&mut record, "caddy-default", 3).for_each(disturb);
    assert_eq!(proposed(&record).as_deref(), Some(""));
    let mut few = rounds(5);
    first(&mut few, "caddy-default", 1).for_each(disturb);
    assert_eq!(proposed(&few).as_deref(), Some(" --rounds 7"));
}

/// Without a rule a campaign adds rounds as long as they can bring what is lacking, and for nothing
/// else.
#[test]
fn a_campaign_without_a_rule_awaits_what_its_own_rounds_can_bring() {
    let look = |planned: u32, begun: u32, disturbed: u32, name: &str| {
        let mut record = rounds(begun);
        record.plan.rounds = planned;
        first(&mut record, name, disturbed).for_each(disturb);
        let rate = rates(&record).into_iter().find(|(known, _)| known == name);
        let (_, rate) = rate.expect("it is there");
        (awaits_rounds(&record), rate == Verdict::Valid)
    };
    let caddy = "caddy-default";
    assert_eq!(look(7, 7, 1, caddy), (false, true));
    assert_eq!(look(7, 7, 2, caddy), (true, false));
    assert_eq!(look(7, 8, 2, caddy), (false, true));
    // Three more make up for three, and four are too many.
    assert_eq!(look(7, 7, 3, caddy), (true, false));
    assert_eq!(look(7, 9, 3, caddy), (false, true));
    assert_eq!(look(7, 10, 4, caddy), (false, true));
    assert_eq!(look(7, 7, 5, caddy), (false, false));
    assert_eq!(look(7, 10, 5, caddy), (false, false));
    // A look of few rounds stays one.
    assert_eq!(look(3, 3, 1, caddy), (false, false));
    // Nor is one at its limit awaited, which further rounds would show again.
    let mut full = rounds(7);
    first(&mut full, caddy, 7).for_each(fill);
    assert!(!awaits_rounds(&full));
}

/// Why there is no finding, as text and Markdown have it as well.
#[track_caller]
fn without_finding(record: &Record) -> String {
    let report = view(record);
    let why = report.answer.no_finding.as_ref().expect("nothing is found");
    let why = why.text();
    let options = TextOptions {
        width: 200,
        colour: false,
        full: false,
        diffs: false,
        record: None,
        needed_again: None,
    };
    let text = text(&report, options);
    assert!(text.starts_with(&why), "{text}");
    let markdown = markdown(&report, MarkdownOptions { full: false });
    assert!(markdown.contains(&format!("- {why}\n")), "{markdown}");
    why
}

/// "There is one contender" stood above a table of two, and nothing was proposed.
#[test]
fn a_campaign_that_met_one_of_its_contenders_says_so_and_goes_on() {
    let whole = rounds(1);
    assert_eq!(view(&rounds(10)).answer.no_finding, None);
    // Ctrl-C during the yardstick.
    let mut broken_off = whole.clone();
    let met = ["nginx-default", "yardstick"];
    broken_off
        .trials
        .retain(|it| met.contains(&it.contender.as_str()));
    let only = "Only nginx-default was measured, so nothing is compared.";
    assert_eq!(without_finding(&broken_off), only);
    assert_eq!(proposed(&broken_off).as_deref(), Some(""));
    // During the second one.
    let mut in_second = whole;
    for trial in &mut in_second.trials {
        if trial.contender == "caddy-default" {
            (trial.end, trial.result) = (TrialEnd::Interrupted, None);
        }
    }
    in_second
        .trials
        .retain(|it| it.contender != "nginx-optimized");
    assert_eq!(without_finding(&in_second), only);
    assert_eq!(proposed(&in_second).as_deref(), Some(""));
    // Before the first one was measured.
    let mut none = broken_off.clone();
    none.trials.retain(|it| it.contender == "yardstick");
    let nobody = "No contender was measured, so nothing is compared.";
    assert_eq!(without_finding(&none), nobody);
    // Nothing goes on with a copy, and a plan of one contender is done.
    broken_off.is_copy = true;
    assert_eq!(without_finding(&broken_off), only);
    assert_eq!(proposed(&broken_off), None);
    broken_off.is_copy = false;
    broken_off
        .plan
        .contenders
        .retain(|it| it.name == "nginx-default");
    let alone = "There is one contender, so nothing is compared.";
    assert_eq!(without_finding(&broken_off), alone);
    assert_eq!(proposed(&broken_off), None);
}

/// Memory of the same size stood below "No difference between contenders is shown", where nothing
/// was known of any rate.
#[test]
fn a_campaign_without_a_rate_that_can_be_believed_does_not_know_which_is_faster() {
    let mut record = rounds(7);
    for trial in &mut record.trials {
        steal(trial, 0.6);
        let ticks = trial
            .usage
            .trees
            .iter_mut()
            .flat_map(|tree| &mut tree.ticks);
        ticks.for_each(|tick| tick.rss_bytes = 20_000_000);
    }
    let unknown = "Which one is faster is not known: the rates and latencies of too few contenders \
                   can be believed.";
    assert_eq!(without_finding(&record), unknown);
}
