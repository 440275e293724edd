//! Tables of equals under several shapes of noise, trial by trial as a campaign runs them.

use std::f64::consts::TAU;

use bakeoff_plan::Random;
use bakeoff_stats::Paired;

/// Standard deviation of a ratio's logarithm within a round, as on shared machines.
pub(crate) const SD: f64 = 0.06;
/// What a slow phase leaves of a rate (measured on virtual machines: 20 to 30 % slower).
const SLOW: f64 = 0.75;
/// Trials that a phase lasts on average.
const PHASE_TRIALS: f64 = 20.0;

/// A shape of noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Normal and independent.
    Normal,
    /// Student's t with three degrees of freedom.
    Heavy,
    /// Autoregressive over the rounds, 0.5.
    Correlated,
    /// The whole machine is slower for minutes, and changes between trials of a round too.
    Phases,
    /// One contender varies four times as much as the others.
    Uneven,
}

impl Shape {
    pub(crate) const ALL: [Self; 5] = [
        Self::Normal,
        Self::Heavy,
        Self::Correlated,
        Self::Phases,
        Self::Uneven,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Heavy => "heavy tails (t, 3)",
            Self::Correlated => "AR(1) 0.5",
            Self::Phases => "machine phases",
            Self::Uneven => "one noisy contender",
        }
    }

    /// Whether rounds are independent under it.
    pub(crate) fn is_independent(self) -> bool {
        self != Self::Correlated
    }
}

/// Blocks of contenders that all compare with each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) blocks: usize,
    pub(crate) contenders: usize,
}

impl Size {
    pub(crate) fn pairs(self) -> usize {
        self.blocks * self.contenders * (self.contenders - 1) / 2
    }

    /// The block that each pair is of.
    pub(crate) fn block_of_pairs(self) -> Vec<usize> {
        let each = self.pairs() / self.blocks;
        (0..self.pairs()).map(|pair| pair / each).collect()
    }
}

/// A normal variable (Box and Muller 1958).
pub(crate) fn normal(random: &mut Random) -> f64 {
    (-2.0 * random.unit().ln()).sqrt() * (TAU * random.unit()).cos()
}

fn student(random: &mut Random) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    normal(random) / (squares / 3.0).sqrt()
}

/// The pairs of a campaign of equals; the ratios of the first contender of each block to the
/// others are off by `effect`, a logarithm.
pub(crate) fn campaign(
    random: &mut Random,
    size: Size,
    rounds: usize,
    shape: Shape,
    effect: f64,
) -> Vec<Paired> {
    let Size { blocks, contenders } = size;
    let cells = blocks * contenders;
    let mut before = vec![0.0; cells];
    let mut values = vec![Vec::with_capacity(rounds); cells];
    let mut slow = random.unit() < 0.5;
    for round in 0..rounds {
        for block in 0..blocks {
            for turn in 0..contenders {
                let contender = (turn + round + block) % contenders;
                let cell = block * contenders + contender;
                slow ^= random.unit() < 1.0 / PHASE_TRIALS;
                let noise = match shape {
                    Shape::Normal => normal(random),
                    // The variance of t with three degrees is three.
                    Shape::Heavy => student(random) / 3.0_f64.sqrt(),
                    Shape::Correlated if round == 0 => normal(random),
                    Shape::Correlated => 0.5 * before[cell] + 0.75_f64.sqrt() * normal(random),
                    Shape::Phases => normal(random) / 2.0,
                    Shape::Uneven if contender == 0 => 4.0 * normal(random),
                    Shape::Uneven => normal(random),
                };
                before[cell] = noise;
                let mut value = noise * SD / 2.0_f64.sqrt();
                if shape == Shape::Phases && slow {
                    value += SLOW.ln();
                }
                if contender == 0 {
                    value -= effect;
                }
                values[cell].push(value);
            }
        }
    }
    let mut pairs = Vec::with_capacity(size.pairs());
    for block in values.chunks(contenders) {
        for (place, first) in block.iter().enumerate() {
            for second in &block[place + 1..] {
                let logs = second
                    .iter()
                    .zip(first)
                    .map(|(second, first)| second - first);
                pairs.push(Paired {
                    logs: logs.collect(),
                    rounds: (1..=second.len() as u32).collect(),
                });
            }
        }
    }
    pairs
}
