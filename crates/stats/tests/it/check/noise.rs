//! Campaigns of equals under several kinds of noise, trial by trial in the order of a campaign.

use std::f64::consts::TAU;

use bakeoff_plan::Random;
use bakeoff_stats::{Decided, Decision, Look, Member, Paired, Spending, decide, is_look};

/// Standard deviation of a ratio's logarithm within a round, as on shared machines.
pub(crate) const SD: f64 = 0.06;
/// What a slow phase leaves of a rate (measured on virtual machines: 20 to 30 % slower).
const SLOW: f64 = 0.75;
/// Trials that a phase lasts on average.
const PHASE_TRIALS: f64 = 20.0;
/// What a machine that grows warm loses over a hundred trials.
const DRIFT: f64 = 0.2;
/// What one start in three of a server is slower by.
const SLOW_START: f64 = 0.12;
/// What a trial takes, s.
const TRIAL_S: f64 = 2.0;
/// What the trial before leaves of its own deviation.
const CARRIED: f64 = 0.2;

/// A kind of noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    /// Normal and independent.
    Normal,
    /// Student's t with three degrees of freedom.
    Heavy,
    /// The machine: autoregressive from trial to trial.
    Machine(f64),
    /// The whole machine is slower for minutes, and changes within a round too.
    Phases,
    /// The machine grows slower all the time.
    Drift,
    /// A start in three is slow.
    Starts,
    /// A trial leaves a fifth of its deviation to the next.
    CarriedOver,
    /// The contender: autoregressive from round to round, in each cell for itself.
    Contender(f64),
    /// One contender varies four times as much as the others.
    Uneven,
}

impl Noise {
    /// Those under which false winners are held below the limits.
    pub(crate) const HELD: [Self; 10] = [
        Self::Normal,
        Self::Heavy,
        Self::Machine(0.5),
        Self::Machine(0.95),
        Self::Phases,
        Self::Drift,
        Self::Starts,
        Self::CarriedOver,
        Self::Uneven,
        Self::Contender(0.5),
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Normal => "normal".to_owned(),
            Self::Heavy => "heavy tails (t, 3)".to_owned(),
            Self::Machine(r) => format!("machine AR(1) {r}"),
            Self::Phases => "machine, phases".to_owned(),
            Self::Drift => "machine, drift".to_owned(),
            Self::Starts => "slow starts".to_owned(),
            Self::CarriedOver => "carry-over".to_owned(),
            Self::Contender(r) => format!("contender AR(1) {r}"),
            Self::Uneven => "one noisy contender".to_owned(),
        }
    }

    /// Whether the rounds of a contender are independent of each other.
    pub(crate) fn is_independent(self) -> bool {
        !matches!(self, Self::Contender(_))
    }
}

/// Workloads and loads, and who meets in each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) cells: usize,
    pub(crate) contenders: usize,
}

impl Size {
    pub(crate) fn pairs(self) -> usize {
        self.cells * self.contenders * (self.contenders - 1) / 2
    }
}

/// How long a campaign goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ends {
    /// After so many rounds, looked at once.
    Rounds(u32),
    /// By time, s. Who is decided leaves.
    Time(f64),
}

/// What is simulated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) size: Size,
    pub(crate) noise: Noise,
    pub(crate) sd: f64,
    pub(crate) ends: Ends,
    /// Logarithm by which the last contender is faster, in every second cell.
    pub(crate) effect: f64,
    /// Chance that a trial is lost.
    pub(crate) lost: f64,
    /// Share of its time after which the campaign was interrupted and given as much again.
    pub(crate) resumed: bool,
    pub(crate) floor: f64,
}

impl Setting {
    pub(crate) fn new(size: Size, noise: Noise, ends: Ends) -> Self {
        Self {
            size,
            noise,
            sd: SD,
            ends,
            effect: 0.0,
            lost: 0.0,
            resumed: false,
            floor: 0.01,
        }
    }
}

/// A campaign at work.
struct Campaign<'r> {
    setting: Setting,
    random: &'r mut Random,
    /// For each cell and contender its rounds.
    values: Vec<Vec<Vec<(u32, f64)>>>,
    /// What is left of earlier trials: of the machine, and of each contender in each cell.
    machine: f64,
    slow: bool,
    carried: f64,
    own: Vec<Vec<f64>>,
    trials: u32,
}

/// The pairs of a campaign with what was said of each in the end.
pub(crate) fn campaign(
    random: &mut Random,
    setting: Setting,
) -> (Vec<Member>, Vec<Option<Decision>>) {
    let Size { cells, contenders } = setting.size;
    let machine = normal(random);
    let slow = random.unit() < 0.5;
    let own = (0..cells).map(|_| (0..contenders).map(|_| normal(random)).collect());
    let own = own.collect();
    let mut campaign = Campaign {
        setting,
        random,
        values: vec![vec![Vec::new(); contenders]; cells],
        machine,
        slow,
        carried: 0.0,
        own,
        trials: 0,
    };
    match setting.ends {
        Ends::Rounds(rounds) => {
            for round in 1..=rounds {
                campaign.round(round, &vec![true; cells * contenders]);
            }
            let members = campaign.members();
            let found = decide(&members, &[Look::ALL_ROUNDS], setting.floor.ln_1p());
            (members, found)
        }
        Ends::Time(budget) => campaign.by_time(budget),
    }
}

impl Campaign<'_> {
    fn by_time(&mut self, budget: f64) -> (Vec<Member>, Vec<Option<Decision>>) {
        let Size { cells, contenders } = self.setting.size;
        let mut spending = Spending {
            first_s: budget,
            now_s: budget,
            resumed: 0,
        };
        let mut stays = vec![true; cells * contenders];
        let mut ended: Vec<(u32, f64)> = Vec::new();
        let mut found = Vec::new();
        for round in 1.. {
            self.round(round, &stays);
            let time = f64::from(self.trials) * TRIAL_S;
            ended.push((round, time));
            let next = stays.iter().filter(|stays| **stays).count() as f64 * TRIAL_S;
            let mut is_over = time + next > spending.now_s;
            if is_look(round) || is_over {
                let members = self.members();
                let looks = spending.looks(&ended, is_over);
                found = decide(&members, &looks, self.setting.floor.ln_1p());
                stays = staying(&members, &found, self.setting.size);
                if is_over && self.setting.resumed && spending.resumed == 0 {
                    spending.now_s += budget;
                    spending.resumed = 1;
                    is_over = false;
                }
            }
            if is_over || !stays.contains(&true) {
                break;
            }
        }
        (self.members(), found)
    }

    /// One round, in an order that is drawn for each cell.
    fn round(&mut self, round: u32, stays: &[bool]) {
        let Size { cells, contenders } = self.setting.size;
        for cell in 0..cells {
            let mut order: Vec<usize> = (0..contenders)
                .filter(|contender| stays[cell * contenders + contender])
                .collect();
            self.random.shuffle(&mut order);
            for contender in order {
                self.trials += 1;
                let value = self.value(cell, contender);
                if self.random.unit() >= self.setting.lost {
                    self.values[cell][contender].push((round, value));
                }
            }
        }
    }

    /// The logarithm of what a trial measures.
    fn value(&mut self, cell: usize, contender: usize) -> f64 {
        let (noise, last) = (self.setting.noise, self.setting.size.contenders - 1);
        let fresh = normal(self.random);
        let along = |before: f64, r: f64| r * before + (1.0 - r * r).sqrt() * fresh;
        let deviation = match noise {
            Noise::Normal => fresh,
            // The variance of t with three degrees is three.
            Noise::Heavy => student(self.random) / 3.0_f64.sqrt(),
            Noise::Machine(r) => {
                self.machine = along(self.machine, r);
                self.machine
            }
            Noise::Phases | Noise::Drift | Noise::Starts => fresh / 2.0,
            Noise::CarriedOver => {
                let now = fresh + CARRIED * self.carried;
                self.carried = now;
                now
            }
            Noise::Contender(r) => {
                let own = &mut self.own[cell][contender];
                *own = along(*own, r);
                *own
            }
            Noise::Uneven if contender == 0 => 4.0 * fresh,
            Noise::Uneven => fresh,
        };
        self.slow ^= self.random.unit() < 1.0 / PHASE_TRIALS;
        let shared = match noise {
            Noise::Phases if self.slow => SLOW.ln(),
            Noise::Drift => -DRIFT * f64::from(self.trials) / 100.0,
            Noise::Starts if self.random.unit() < 1.0 / 3.0 => -SLOW_START,
            _ => 0.0,
        };
        let is_off = contender == last && cell.is_multiple_of(2);
        let effect = if is_off { self.setting.effect } else { 0.0 };
        deviation * self.setting.sd / 2.0_f64.sqrt() + shared + effect
    }

    fn members(&self) -> Vec<Member> {
        let mut members = Vec::with_capacity(self.setting.size.pairs());
        for (cell, values) in self.values.iter().enumerate() {
            for first in 0..values.len() {
                for second in first + 1..values.len() {
                    members.push(Member {
                        paired: paired(&values[first], &values[second]),
                        cell,
                        between: [first, second],
                    });
                }
            }
        }
        members
    }
}

/// Second less first, in the rounds that have both.
fn paired(first: &[(u32, f64)], second: &[(u32, f64)]) -> Paired {
    let mut paired = Paired::default();
    for (round, value) in second {
        if let Ok(place) = first.binary_search_by_key(round, |(round, _)| *round) {
            paired.rounds.push(*round);
            paired.logs.push(value - first[place].1);
        }
    }
    paired
}

/// Who stays in which cell: those with a pair that is not decided.
fn staying(members: &[Member], found: &[Option<Decision>], size: Size) -> Vec<bool> {
    let mut stays = vec![false; size.cells * size.contenders];
    for (member, found) in members.iter().zip(found) {
        if found.is_none_or(|one| one.decided.is_none()) {
            for contender in member.between {
                stays[member.cell * size.contenders + contender] = true;
            }
        }
    }
    stays
}

/// Whether a difference is shown that way.
pub(crate) fn is_shown(found: &Option<Decision>, way: Decided) -> bool {
    found.is_some_and(|one| one.decided == Some(way))
}

/// A normal variable (Box and Muller 1958).
pub(crate) fn normal(random: &mut Random) -> f64 {
    (-2.0 * random.unit().ln()).sqrt() * (TAU * random.unit()).cos()
}

fn student(random: &mut Random) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    normal(random) / (squares / 3.0).sqrt()
}
