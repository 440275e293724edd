//! What gates come to, from campaigns made up with the noise of a shared machine.

use bakeoff_audit::{
    Code, GateError, GateRow, Gates, Judged, Judgement, Metric, Mismatch, Ruling, Trust, Verdict,
    Verdicts, compare_contenders, compare_records, equivalences, fits, mismatches, worst_ruling,
};
use bakeoff_plan::Random;
use bakeoff_record::{ContenderKind, HostFacts, HostRole, Record};

use super::{campaign, compare, judged, open_loop, rounds, suspect, valid};

fn gates(text: &str) -> Gates {
    Gates::parse(text).expect("it is a gate")
}

fn judged_of(record: &Record, judge: impl Fn(&str) -> Judgement) -> Judged<'_> {
    let cells = judged(record, judge);
    let equivalence = equivalences(&record.plan, &record.trials);
    let compared = compare(record, &cells, &equivalence);
    Judged {
        comparisons: compared.comparisons,
        floors: compared.floors,
        cells,
        equivalence,
        findings: Vec::new(),
        trust: Trust::default(),
        rounds_enough: None,
        goes_on: false,
    }
}

fn rows_of(record: &Record, sides: (&str, &str), text: &str) -> Vec<GateRow> {
    let judged = judged_of(record, |_| valid());
    compare_contenders(record, &judged, sides.0, &[sides.1], &gates(text)).expect("both are there")
}

fn rate_row(rates: &[(&str, Vec<f64>)], text: &str) -> GateRow {
    let rows = rows_of(&campaign(rates), ("a", "b"), text);
    let mut rates = rows.into_iter();
    rates
        .find(|row| row.metric == Metric::RatePerS)
        .expect("the rate is compared")
}

/// Ten rounds about a level, normal with this spread.
fn noisy(level: f64, sd: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut one = || {
        let (u, v) = (random.unit(), random.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    (0..10).map(|_| level * (sd * one()).exp()).collect()
}

#[test]
fn a_fifth_slower_is_breached_each_time_and_the_same_never() {
    let mut passed = 0;
    for seed in 0..10 {
        let base = noisy(10_000.0, 0.042, 2 * seed + 1);
        let slower = noisy(8_000.0, 0.042, 2 * seed + 2);
        let row = rate_row(&[("a", base.clone()), ("b", slower)], "rate=5%");
        assert_eq!(row.ruling, Ruling::Breached, "seed {seed}: {row:?}");
        let worse = row.worse.expect("it is valid");
        assert!(
            worse.low < Some(0.25) && worse.high > Some(0.25),
            "{worse:?}"
        );
        let same = noisy(10_000.0, 0.042, 2 * seed + 102);
        let row = rate_row(&[("a", base), ("b", same)], "rate=5%");
        assert_ne!(row.ruling, Ruling::Breached, "seed {seed}: {row:?}");
        passed += u32::from(row.ruling == Ruling::Passed);
    }
    assert!(passed >= 3, "{passed} of 10 equals pass");
}

#[test]
fn better_passes_and_the_other_way_round_is_worse() {
    let rates = [("a", rounds(10, 1e4, 1)), ("b", rounds(10, 1.2e4, 2))];
    let record = campaign(&rates);
    let ruling = |sides| worst_ruling(&rows_of(&record, sides, "rate=5%"));
    assert_eq!(ruling(("a", "b")), Ruling::Passed);
    assert_eq!(ruling(("b", "a")), Ruling::Breached);
    let row = rate_row(&rates, "rate=5%");
    assert!(row.worse.expect("valid").point < -0.15, "{row:?}");
    // Worse by less than the gate is no breach.
    let row = rate_row(
        &[("a", rounds(10, 1e4, 1)), ("b", rounds(10, 9.7e3, 2))],
        "rate=5%",
    );
    assert!(row.worse.expect("valid").low > Some(0.0), "{row:?}");
    assert_eq!(row.ruling, Ruling::Passed);
}

#[test]
fn what_is_not_decided_says_how_many_rounds_would_do() {
    let row = rate_row(
        &[("a", noisy(1e4, 0.1, 5)), ("b", noisy(0.97e4, 0.1, 6))],
        "rate=5%",
    );
    assert_eq!(row.ruling, Ruling::CannotTell);
    assert!(
        row.rounds_needed.is_none_or(|rounds| rounds > 10),
        "{row:?}"
    );
    assert!(row.reason.expect("why").contains("may be worse"));
    let row = rate_row(&[("a", vec![1e4, 1e4]), ("b", vec![5e3, 5e3])], "rate=5%");
    assert_eq!((row.ruling, row.worse), (Ruling::CannotTell, None));
    assert_eq!(
        row.reason.as_deref(),
        Some("2 rounds are too few for an interval")
    );
    assert_eq!(row.rounds_needed, Some(3));
}

#[test]
fn what_is_not_valid_neither_passes_nor_breaches() {
    let slow = [("a", rounds(10, 1e4, 1)), ("b", rounds(10, 5e3, 2))];
    let record = campaign(&slow);
    let withheld = Judgement {
        verdicts: Verdicts {
            rate: Verdict::Invalid,
            ..Verdicts::all(Verdict::Valid)
        },
        ..valid()
    };
    for weak in [suspect(Code::NotSteady), suspect(Code::OtherLoad), withheld] {
        for side in ["a", "b"] {
            let judge = |name: &str| if name == side { weak.clone() } else { valid() };
            let judged = judged_of(&record, judge);
            let rows = compare_contenders(&record, &judged, "a", &["b"], &gates("rate=5%"));
            let rows = rows.expect("both are there");
            let rate = rows
                .iter()
                .find(|row| row.metric == Metric::RatePerS)
                .unwrap();
            assert_eq!(
                (rate.ruling, rate.worse),
                (Ruling::CannotTell, None),
                "{rate:?}"
            );
            assert!(rate.reason.is_some());
        }
    }
}

#[test]
fn twins_that_differ_weaken_a_breach() {
    let base = rounds(10, 1e4, 1);
    let twin: Vec<f64> = base.iter().map(|rate| rate * 1.3).collect();
    let slow = rounds(10, 8e3, 2);
    let row = rate_row(&[("a", base), ("b", slow), ("a~", twin)], "rate=5%");
    assert_eq!(row.ruling, Ruling::CannotTell);
    assert!(row.reason.expect("why").contains("the same server differ"));
}

/// One race of twenty has twins that differ by chance and beyond what chance explains.
#[test]
fn a_breach_beyond_all_that_twins_differ_by_stands() {
    let row = |slow: f64, apart: f64| {
        let base = rounds(10, 1e4, 1);
        let twin: Vec<f64> = base.iter().map(|rate| rate * apart).collect();
        let rates = [("a", base), ("b", rounds(10, slow, 2)), ("a~", twin)];
        rate_row(&rates, "rate=5%")
    };
    // The sign of what twins differ by says nothing: either may have been the faster one.
    for apart in [1.06, 1.0 / 1.06] {
        let breached = row(8e3, apart);
        assert_eq!(breached.ruling, Ruling::Breached, "{breached:?}");
        assert_eq!(breached.reason, None);
        // The centre lies beyond 6 %, and a part of the interval does not.
        let near = row(9.425e3, apart);
        let worse = near.worse.expect("valid");
        assert!(
            worse.point > 0.06 && worse.low < Some(0.06) && worse.low > Some(0.0),
            "{worse:?}"
        );
        for open in [near, row(1e4, apart)] {
            assert_eq!(open.ruling, Ruling::CannotTell, "{open:?}");
            let reason = open.reason.expect("why");
            assert!(
                reason.contains("differ by 6.0 % in this campaign, beyond chance"),
                "{reason}"
            );
        }
    }
}

/// Rates of nginx, of itself again and of an nginx that tests 16 regular expressions a request,
/// as a virtual machine with busy neighbours measured them. Their intervals are 20 % wide, and so
/// is that of the twins; its centre is 4 %.
#[test]
fn twins_that_differ_by_chance_alone_do_not_hide_a_fifth() {
    let base = [
        64666, 59446, 57455, 66933, 55471, 56126, 53437, 62304, 63020, 55176, 64401, 64854, 66294,
        45956, 68607, 66582, 61788, 60454, 53085, 49924,
    ];
    let twin = [
        46489, 41382, 54264, 65277, 65518, 57156, 44208, 49568, 48419, 59588, 48016, 64872, 53161,
        56413, 62471, 65143, 57826, 59938, 65092, 56865,
    ];
    let slow = [
        50111, 52364, 51659, 53746, 55954, 51963, 54475, 49155, 49058, 51859, 32046, 37751, 50026,
        43895, 49878, 54831, 52841, 51929, 49869, 34966,
    ];
    let rates = |of: [i32; 20]| of.map(f64::from).to_vec();
    let row = |of| {
        rate_row(
            &[("a", rates(base)), ("b", rates(of)), ("a~", rates(twin))],
            "rate=5%",
        )
    };
    assert_eq!(row(slow).ruling, Ruling::Breached, "{:?}", row(slow));
    assert_eq!(row(twin).ruling, Ruling::CannotTell, "{:?}", row(twin));
}

#[test]
fn gates_go_by_the_loads_that_they_fit() {
    let rates = [("a", rounds(10, 1e4, 1)), ("b", rounds(10, 1e4, 2))];
    let mut record = campaign(&rates);
    let judged = judged_of(&record, |_| valid());
    let refused = |gate: &str| compare_contenders(&record, &judged, "a", &["b"], &gates(gate));
    let p99 = Err(GateError::FitsNothing(Metric::LatencyP99Ns));
    assert_eq!(refused("rate=5%,p99=10%"), p99);
    assert!(fits(&gates("p99=10%"), &record.plan).is_err());
    assert!(fits(&gates("rate=5%,cpu=5%"), &record.plan).is_ok());
    let same = compare_contenders(&record, &judged, "a", &["a"], &gates("rate=5%"));
    assert_eq!(same, Err(GateError::Same("a".to_owned())));
    let none = compare_contenders(&record, &judged, "a", &["c"], &gates("rate=5%"));
    let text = none.unwrap_err().to_string();
    assert!(text.contains("no contender `c`; it has a, b"), "{text}");
    open_loop(&mut record, |trial| {
        if trial.contender == "a" {
            1_000_000
        } else {
            1_300_000
        }
    });
    let rows = rows_of(&record, ("a", "b"), "p99=10%");
    assert_eq!(worst_ruling(&rows), Ruling::Breached);
    assert!(rows.iter().all(|row| row.metric != Metric::RatePerS));
    assert!(fits(&gates("rate=5%"), &record.plan).is_err());
}

/// A campaign of one contender with a yardstick beside it.
fn one_and_yardstick(rates: Vec<f64>, yardstick: f64) -> Record {
    let mut record = campaign(&[("a", rates), ("y", rounds(10, yardstick, 9))]);
    record.plan.contenders.truncate(1);
    for trial in record
        .trials
        .iter_mut()
        .filter(|trial| trial.contender == "y")
    {
        trial.kind = ContenderKind::Yardstick;
    }
    record
}

fn across(first: &Record, second: &Record) -> (Vec<GateRow>, Vec<Mismatch>) {
    let judged = [first, second].map(|record| judged_of(record, |_| valid()));
    let rows = compare_records(&judged[0], &judged[1], &gates("rate=5%")).expect("the same");
    let found = mismatches((first, &judged[0]), (second, &judged[1]));
    (rows, found)
}

#[test]
fn two_records_are_compared_without_pairs_and_wider_by_their_yardsticks() {
    let before = one_and_yardstick(rounds(10, 1e4, 1), 5e4);
    let slower = one_and_yardstick(rounds(10, 8e3, 2), 5e4);
    let (rows, found) = across(&before, &slower);
    assert_eq!((worst_ruling(&rows), found), (Ruling::Breached, vec![]));
    let same = one_and_yardstick(rounds(10, 1e4, 3), 5e4);
    let (rows, _) = across(&before, &same);
    assert_eq!(worst_ruling(&rows), Ruling::Passed);
    let narrow = rows[0].worse.expect("valid");
    let (rows, found) = across(&before, &one_and_yardstick(rounds(10, 1e4, 3), 5.2e4));
    let wide = rows[0].worse.expect("valid");
    assert!(
        wide.high > narrow.high.map(|high| high + 0.03),
        "{wide:?} {narrow:?}"
    );
    assert_eq!(found, []);
    let hidden = across(&before, &one_and_yardstick(rounds(10, 0.97e4, 3), 5.24e4)).0;
    assert_eq!(hidden[0].ruling, Ruling::CannotTell);
    assert_eq!(hidden[0].rounds_needed, None, "no rounds would show it");
    let reason = hidden[0].reason.as_deref().unwrap_or_default();
    assert!(reason.contains("however many rounds"), "{reason}");
    let (_, found) = across(&before, &one_and_yardstick(rounds(10, 1e4, 3), 5.6e4));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, "yardstick");
    assert!(found[0].text.contains("% apart"), "{found:?}");
}

#[test]
fn records_that_differ_are_named_by_what_they_differ_in() {
    let before = one_and_yardstick(rounds(10, 1e4, 1), 5e4);
    let differ = |change: fn(&mut Record)| {
        let mut after = before.clone();
        change(&mut after);
        let (_, found) = across(&before, &after);
        found.iter().map(|one| one.what).collect::<Vec<_>>()
    };
    assert_eq!(differ(|_| {}), Vec::<&str>::new());
    assert_eq!(differ(|it| it.machine.host = "other".into()), ["machine"]);
    assert_eq!(differ(|it| it.machine.cpus += 1), ["machine"]);
    assert_eq!(differ(|it| it.machine.kernel.push('x')), ["kernel"]);
    assert_eq!(differ(|it| it.machine.bakeoff.push('x')), ["engine"]);
    assert_eq!(
        differ(|it| it.plan.workloads[0].proxied ^= true),
        ["workload"]
    );
    assert_eq!(
        differ(|it| it.plan.workloads[0].description.push('x')),
        Vec::<&str>::new()
    );
    assert_eq!(differ(|it| it.plan.loads[0].timeout_s += 1.0), ["load"]);
    let threads = |it: &mut Record| {
        let results = it
            .trials
            .iter_mut()
            .filter_map(|trial| trial.result.as_mut());
        results.for_each(|result| result.threads += 1);
    };
    assert_eq!(differ(threads), ["engine"]);
    let elsewhere = |it: &mut Record| {
        let far = HostFacts {
            name: "g1".to_owned(),
            roles: vec![HostRole::Generator],
            ..HostFacts::default()
        };
        for trial in &mut it.trials {
            let hosts = trial.hosts.get_or_insert_default();
            hosts.hosts.push(far.clone());
        }
    };
    assert_eq!(differ(elsewhere), ["engine"]);
    let no_yardstick = |it: &mut Record| {
        it.trials
            .retain(|trial| trial.kind == ContenderKind::Contender);
    };
    assert_eq!(differ(no_yardstick), ["yardstick"]);
}
