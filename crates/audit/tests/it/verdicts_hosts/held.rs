//! A campaign whose rates are what a link between hosts carries.

use bakeoff_audit::Judged;
use bakeoff_record::Record;

use super::*;

const CONTENDER: &str = "nginx-optimized";

/// Seven rounds of servers with processors left, all as fast as the contender, over a link that
/// carries `times` what each trial used of it.
fn campaign(times: f64) -> Record {
    let mut record = bakeoff_testing::at_one_load(bakeoff_testing::record_of_rounds(7));
    let contenders = record.trials.iter().filter(|it| it.contender == CONTENDER);
    let results: Vec<_> = contenders.map(|it| (it.round, it.result.clone())).collect();
    for trial in &mut record.trials {
        let mut of_rounds = results.iter();
        let of_round = of_rounds.find(|(round, _)| *round == trial.round);
        let (_, result) = of_round.expect("the contender was measured in each round");
        trial.result = result.clone();
        idle_server(trial);
        room(trial, times);
    }
    record
}

/// The bottleneck of the contender, and why numbers are weak.
fn reasons(judged: &Judged<'_>) -> (&'static str, String) {
    let mut cells = judged.cells.iter();
    let cell = cells.find(|one| one.cell.key.contender == CONTENDER);
    let bottleneck = cell.and_then(|cell| cell.bottleneck.as_ref());
    let of_numbers = judged
        .trust
        .numbers
        .iter()
        .filter_map(|one| one.reason.as_ref());
    let reasons = judged.trust.reasons.iter().chain(of_numbers);
    let reasons = reasons.map(|one| one.text.as_str());
    (
        bottleneck.expect("it was measured").name.name(),
        reasons.collect::<Vec<_>>().join("\n"),
    )
}

/// The yardstick crosses the same link, so that a full link makes it as slow as the contenders.
#[test]
fn a_full_link_explains_rates_that_are_as_high_as_the_yardstick() {
    let record = campaign(1.0);
    let (bottleneck, why) = reasons(&bakeoff_audit::judge(&record));
    assert_eq!(bottleneck, "network", "{why}");
    assert!(
        why.contains("not ranked, most because the link between hosts was full"),
        "{why}"
    );
    assert!(!why.contains("lower bound"), "{why}");
    let record = campaign(2.0);
    let (bottleneck, why) = reasons(&bakeoff_audit::judge(&record));
    assert_eq!(bottleneck, "generator-ceiling", "{why}");
    assert!(!why.contains("link"), "{why}");
    assert!(why.contains("lower bound"), "{why}");
}
