//! `bakeoff selftest` tests the judge: it plants faults and compares the report of each campaign
//! with what it planted.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use anyhow::Context;
use bakeoff_plan::nearest;
use bakeoff_record::{MACHINE_SCHEMA, Machine};
use bakeoff_report::{
    FaultRow, SelfTest, SelfTestRig, Tally, selftest_json, selftest_markdown, selftest_text,
};

use crate::campaigns::{Place, WhileOthersRun};
use crate::display::{Sparse, spoken};
use crate::flags::{SelftestFlags, SelftestFormat};
use crate::interrupt::Interrupt;
use crate::library::Folder;
use crate::run_folder::RunFolder;
use crate::{exit, output};

mod faults;
mod seen;
mod setup;
mod world;

use faults::Fault;
use seen::Seen;
use setup::Setup;
use world::{Forbidden, World};

/// A run that other programs disturbed is made again so often.
const AGAIN_MAX: u32 = 2;
/// Load average for each processor from which other programs will be in the result.
const BUSY_SHARE: f64 = 0.25;
/// What it may take to end after an interruption, seconds.
const END_WITHIN_S: u64 = 3;
/// Columns where standard output is no terminal.
const WIDTH: usize = 100;

pub(crate) fn carry_out(flags: &SelftestFlags) -> anyhow::Result<u8> {
    let faults = chosen(flags)?;
    if flags.list {
        output::result(&list(&faults))?;
        return Ok(exit::DONE);
    }
    let interrupt = Interrupt::listen_with_limit()?;
    let Some(place) = Place::take(WhileOthersRun::from(flags.others), &interrupt)? else {
        output::note("interrupted; nothing was planted");
        return Ok(exit::INTERRUPTED);
    };
    for other in &place.others {
        output::note(&format!("beside another campaign: {other}"));
    }
    let library = Folder::new(None)?;
    let scratch = RunFolder::make()?;
    let bakeoff = std::env::current_exe().context("failed to find bakeoff's own program")?;
    let world = World {
        library,
        bakeoff,
        scratch,
        stop: interrupt.flag(),
        machine: machine(),
        number: 0,
    };
    // To stop its servers and print what was seen.
    interrupt.take_time(END_WITHIN_S);
    interrupt.say_last("interrupted; nothing that was started is left");
    let quick = flags.quick;
    let usual = Duration::from_secs(if quick { 170 } else { 3600 });
    let mut test = Test {
        began: Instant::now(),
        within: flags.within.unwrap_or(usual),
        quick,
        result: empty(flags, &faults, &world.machine),
        world,
        log: (!output::is_drawable()).then(Sparse::default),
    };
    let pairs = match (flags.pairs, quick || !flags.fault.is_empty()) {
        (Some(pairs), _) => pairs,
        (None, true) => 0,
        (None, false) => 40,
    };
    let repeats = flags.repeats.unwrap_or(if quick { 1 } else { 5 });
    let ended = test.plant_all(&faults, repeats, pairs)?;
    let mut result = test.result;
    result.rig.took_s = test.began.elapsed().as_secs_f64();
    if ended == Ended::Interrupted {
        result.ended_early = Some("it was interrupted".to_owned());
    }
    write(&result, flags)?;
    Ok(match (ended, result.holds()) {
        (Ended::Interrupted, _) => exit::INTERRUPTED,
        (_, true) => exit::DONE,
        (_, false) => exit::BREACHED,
    })
}

/// The faults that flags ask for.
fn chosen(flags: &SelftestFlags) -> anyhow::Result<Vec<Fault>> {
    let all = faults::all();
    for name in &flags.fault {
        let mut names = all.iter().map(|fault| fault.name);
        if !names.any(|known| known == name) {
            let near = nearest(name, all.iter().map(|fault| fault.name));
            let hint = near.map(|near| format!("; did you mean {near}?"));
            return Err(exit::usage(format!(
                "there is no fault {name}{}; `bakeoff selftest --list` prints all",
                hint.unwrap_or_default()
            )));
        }
    }
    let is_asked = |fault: &Fault| {
        if flags.fault.is_empty() {
            fault.certain || !flags.quick
        } else {
            flags.fault.iter().any(|name| name == fault.name)
        }
    };
    Ok(all.into_iter().filter(is_asked).collect())
}

fn list(faults: &[Fault]) -> String {
    let line = |fault: &Fault| {
        let named_by = fault.finds.named_by().join(" or ");
        format!(
            "{} ({}): {}; named by {named_by}\n",
            fault.name, fault.rule, fault.planted
        )
    };
    faults.iter().map(line).collect()
}

fn machine() -> Machine {
    Machine {
        schema: MACHINE_SCHEMA.to_owned(),
        bakeoff: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: jiff::Timestamp::now().to_string(),
        ..bakeoff_probe::machine()
    }
}

/// A result without any run.
fn empty(flags: &SelftestFlags, faults: &[Fault], machine: &Machine) -> SelfTest {
    let row = |fault: &Fault| FaultRow {
        name: fault.name.to_owned(),
        rule: fault.rule.to_owned(),
        planted: fault.planted.to_owned(),
        named_by: fault.finds.named_by(),
        ..FaultRow::default()
    };
    SelfTest {
        rig: SelfTestRig {
            bakeoff: machine.bakeoff.clone(),
            started_at: machine.started_at.clone(),
            took_s: 0.0,
            cpus: machine.cpus,
            cpu_model: machine.cpu_model.clone(),
            kernel: machine.kernel.clone(),
            load_average: machine.load_average,
        },
        quick: flags.quick,
        faults: faults.iter().map(row).collect(),
        ..SelfTest::default()
    }
}

/// How far a self-test came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Whole,
    Interrupted,
}

/// A self-test under way.
struct Test {
    began: Instant,
    within: Duration,
    quick: bool,
    result: SelfTest,
    world: World,
    /// Which lines a log has; a terminal has all of them.
    log: Option<Sparse>,
}

impl Test {
    /// Plants each fault once, then each a second time: what ends early has seen all.
    fn plant_all(&mut self, faults: &[Fault], repeats: u32, pairs: u32) -> anyhow::Result<Ended> {
        if !self.quick {
            self.say_what_hinders();
        }
        for repeat in 1..=repeats {
            for (place, fault) in faults.iter().enumerate() {
                for planted in [true, false] {
                    if self.is_over() {
                        return Ok(Ended::Whole);
                    }
                    let row = &self.result.faults[place];
                    if row.left_out.is_some() || row.failed.is_some() {
                        continue;
                    }
                    if !self.plant(fault, place, planted, repeat)? {
                        return Ok(Ended::Interrupted);
                    }
                }
            }
        }
        self.compare_equals(pairs)
    }

    /// Says what on this machine hinders it.
    fn say_what_hinders(&self) {
        if !world::has_processors_apart() {
            output::note("one processor for all roles: what takes processors away cannot be seen");
        }
        let rig = &self.result.rig;
        let busy = rig.load_average.unwrap_or(0.0);
        if busy > BUSY_SHARE * f64::from(rig.cpus) {
            output::note(&format!(
                "the machine is busy (load average {busy:.1}): what other programs do is named \
                 too, in twins as well; what is said of processors needs an idle machine"
            ));
        }
    }

    /// Compares pairs of servers that are the same.
    fn compare_equals(&mut self, pairs: u32) -> anyhow::Result<Ended> {
        for _ in 0..pairs {
            if self.is_over() {
                return Ok(Ended::Whole);
            }
            let Some(seen) = self.world.see(&faults::equals())? else {
                return Ok(Ended::Interrupted);
            };
            let pairs = &mut self.result.pairs;
            pairs.compared += 1;
            let is_won = !seen.winners.is_empty();
            pairs.winners += u32::from(is_won);
            let said = if is_won {
                format!("a winner by {}", seen.winners.join(", "))
            } else {
                "no winner".to_owned()
            };
            let line = format!("equal servers, pair {}: {said}", pairs.compared);
            self.say(line, is_won);
        }
        Ok(Ended::Whole)
    }

    /// Whether its time is used up.
    fn is_over(&mut self) -> bool {
        let over = self.began.elapsed() >= self.within;
        if over {
            let minutes = self.within.as_secs_f64() / 60.0;
            self.result.ended_early = Some(format!("its {minutes:.0} minutes were used up"));
        }
        over
    }

    /// Plants a fault, or carries out its twin; `false` where somebody wants to stop.
    fn plant(
        &mut self,
        fault: &Fault,
        place: usize,
        planted: bool,
        repeat: u32,
    ) -> anyhow::Result<bool> {
        let setup = (fault.setup)(planted);
        let mut again = 0;
        let (mut disturbed, mut named);
        let seen = loop {
            let seen = match self.world.see(&setup) {
                Ok(Some(seen)) => seen,
                Ok(None) => return Ok(false),
                // What was being started was stopped with it.
                Err(_) if self.world.is_stopped() => return Ok(false),
                Err(error) => {
                    note_failed(&mut self.result.faults[place], &error);
                    return Ok(true);
                }
            };
            disturbed = is_disturbed(fault, &setup, &seen);
            named = if planted {
                fault.finds.is_in(&seen)
            } else {
                fault.finds.flags(&seen)
            };
            let is_worth_it = !self.quick || named != planted;
            if is_worth_it && again < AGAIN_MAX && disturbed && !self.is_over() {
                again += 1;
                continue;
            }
            break seen;
        };
        let row = &mut self.result.faults[place];
        if let Some(doubts) = seen.doubts().filter(|_| !planted) {
            row.doubts.add(&doubts);
        }
        let tally: &mut Tally = if planted {
            &mut row.with
        } else {
            &mut row.without
        };
        let codes = seen.codes(fault.finds);
        tally.add(named, &codes);
        tally.again += again;
        tally.disturbed += u32::from(disturbed);
        let listed = || Vec::from_iter(codes).join(", ");
        let said = match (planted, named) {
            (true, true) => "found".to_owned(),
            (true, false) => format!("NOT found, seen: {}", listed()),
            (false, true) => format!("twin FLAGGED: {}", listed()),
            (false, false) => "twin clean".to_owned(),
        };
        self.say(format!("{} {repeat}: {said}", fault.name), named != planted);
        Ok(true)
    }

    /// Says what was seen; `is_news` where it was not what was expected.
    fn say(&mut self, line: String, is_news: bool) {
        let Some(log) = &mut self.log else {
            output::note(&line);
            return;
        };
        let (passed, runs) = (self.began.elapsed(), self.world.number);
        let mut lines = Vec::from_iter(log.line(line, is_news));
        if log.is_due(passed) {
            let (passed, most) = (spoken(passed), spoken(self.within));
            lines.push(log.summary(&format!("after {passed} of at most {most}: {runs} runs")));
        }
        lines.iter().for_each(|line| output::note(line));
    }
}

/// Keeps why a set-up could not be carried out. Only what this machine does not allow is left out.
fn note_failed(row: &mut FaultRow, error: &anyhow::Error) {
    let why = format!("{error:#}");
    let is_forbidden = error.is::<Forbidden>();
    let what = if is_forbidden { "left out" } else { "FAILED" };
    output::note(&format!("{}: {what}: {why}", row.name));
    let place = if is_forbidden {
        &mut row.left_out
    } else {
        &mut row.failed
    };
    *place = Some(why);
}

/// Whether something that was not planted took processors away.
fn is_disturbed(fault: &Fault, setup: &Setup, seen: &Seen) -> bool {
    let is_planted = match setup {
        Setup::Campaign(campaign) => !campaign.beside.is_empty(),
        Setup::Line(_) => true,
    };
    seen.is_disturbed() && !is_planted && !fault.finds.is_of_the_machine()
}

fn write(result: &SelfTest, flags: &SelftestFlags) -> anyhow::Result<()> {
    let drawn = match flags.format {
        SelftestFormat::Text => {
            let is_terminal = std::io::stdout().is_terminal() && flags.output.is_none();
            let width = output::terminal_width().filter(|_| is_terminal);
            selftest_text(result, width.unwrap_or(WIDTH), is_terminal)
        }
        SelftestFormat::Md => selftest_markdown(result),
        SelftestFormat::Json => selftest_json(result),
    };
    output::document_to(flags.output.as_deref(), &drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_machine_does_not_allow_is_left_out() {
        let noted = |error: anyhow::Error| {
            let mut row = FaultRow::default();
            note_failed(&mut row, &error);
            (row.left_out, row.failed)
        };
        let forbidden = Forbidden("no network namespace".to_owned());
        let why = Some("no network namespace".to_owned());
        assert_eq!(noted(forbidden.into()), (why, None));
        let why = Some("a campaign panicked".to_owned());
        assert_eq!(noted(anyhow::anyhow!("a campaign panicked")), (None, why));
    }
}
