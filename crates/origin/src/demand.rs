//! An upstream as slow and as faulty as somebody wants it.
//!
//! What becomes of the n-th request depends on the seed and on n alone, whichever thread gets it,
//! so it is the same in every round. Requests of one connection come one after the other: a
//! pipelined one comes when the one before it has been answered.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::behaviour::{Act, Behaviour, Decision, Ending, Queueing, SlowBody};
use crate::delay::{Delay, TIME_MAX};
use crate::options::{OriginError, Reply};
use crate::queue::{Admission, Queue};
use crate::random::Random;
use crate::request::Request;

/// Different sizes that bodies can have: each is encoded beforehand.
const SIZES_MAX: usize = 64;

/// Largest body, bytes.
const SIZE_MAX: usize = 64 * 1024 * 1024;

/// Pieces that a slow body may have.
const PIECES_MAX: usize = 1_000_000;

/// What is wanted of an upstream. Without anything it answers as if it were not there.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Time from a whole request to the begin of its answer; `None` is none.
    pub delay: Option<Delay>,
    /// Sizes of the body, each with its weight: the reply's body again and again, up to the size.
    /// Empty leaves the reply's body as it is.
    pub sizes: Vec<(usize, u32)>,
    /// Share of the requests that are answered with `error_status`, 0 to 1.
    pub errors: f64,
    /// That status, 400 to 599.
    pub error_status: u16,
    /// Share of the requests whose connection is reset instead of an answer, 0 to 1.
    pub resets: f64,
    /// Share of the requests whose connection is closed half way through the body, 0 to 1.
    pub closes: f64,
    /// The reply's body in pieces. Errors come whole.
    pub slow_body: Option<SlowBody>,
    /// Requests in service at once, over all threads; the others wait in order. A request is in
    /// service for its delay and the time between the pieces of its body.
    pub workers: Option<u32>,
    /// Requests that may wait; one more is answered at once with 503. `None` is without limit.
    pub queue: Option<u32>,
    /// Whether to answer at once until [`behave`](crate::behave) says otherwise.
    pub later: bool,
}

/// Behaves as a [`Demand`] says.
#[derive(Debug, Clone)]
pub struct OnDemand(Arc<State>);

/// What all threads share.
#[derive(Debug)]
struct State {
    demand: Demand,
    /// Length of the reply's body, where no sizes are drawn.
    body: usize,
    behaves: AtomicBool,
    /// Number of the next request.
    next: AtomicU64,
    queue: Option<Mutex<Queue>>,
}

impl Default for Demand {
    /// Nothing; errors that are asked for are 503.
    fn default() -> Self {
        Self {
            seed: 0,
            delay: None,
            sizes: Vec::new(),
            errors: 0.0,
            error_status: 503,
            resets: 0.0,
            closes: 0.0,
            slow_body: None,
            workers: None,
            queue: None,
            later: false,
        }
    }
}

impl Demand {
    /// Whether it changes no answer.
    pub fn is_nothing(&self) -> bool {
        let same = Self {
            seed: self.seed,
            error_status: self.error_status,
            later: self.later,
            ..Self::default()
        };
        *self == same
    }

    /// Checks that it can be carried out on a body of `body` bytes.
    fn check(&self, body: usize) -> Result<(), OriginError> {
        let wrong = |text: String| Err(OriginError::Demand(text));
        if let Some(delay) = &self.delay {
            delay.check()?;
        }
        let shares = [self.errors, self.resets, self.closes];
        let each = shares.iter().all(|share| (0.0..=1.0).contains(share));
        // Three shares that are meant to be 1 together may be a little more by rounding.
        if !each || shares.iter().sum::<f64>() > 1.0 + 1e-9 {
            return wrong(
                "the shares of errors, resets and closes must be from 0 to 1, all together too"
                    .to_owned(),
            );
        }
        let status = self.error_status;
        if !(400..=599).contains(&status) {
            return wrong(format!("the status of errors is {status}, not 400 to 599"));
        }
        let sizes_fit = self.sizes.iter().all(|(size, _)| *size <= SIZE_MAX);
        let weights: u64 = self
            .sizes
            .iter()
            .map(|(_, weight)| u64::from(*weight))
            .sum();
        if self.sizes.len() > SIZES_MAX || !sizes_fit {
            return wrong(format!(
                "there may be {SIZES_MAX} body sizes, each up to {SIZE_MAX} bytes"
            ));
        }
        if !self.sizes.is_empty() && weights == 0 {
            return wrong("one of the body sizes must have a weight above 0".to_owned());
        }
        let largest = self.sizes.iter().map(|(size, _)| *size).max();
        if let Some(slow) = &self.slow_body {
            let pieces = largest.unwrap_or(body).div_ceil(slow.bytes.max(1));
            if slow.bytes == 0 || pieces > PIECES_MAX || slow.every > TIME_MAX {
                return wrong(format!(
                    "a slow body has pieces of at least 1 byte, up to {PIECES_MAX} of them, and \
                     at most 24h between two"
                ));
            }
        }
        match (self.workers, self.queue) {
            (Some(0), _) => wrong("there must be at least 1 worker".to_owned()),
            (Some(_), _) if self.delay.is_none() && self.slow_body.is_none() => wrong(
                "workers limit nothing without a delay or a slow body: an answer at once leaves \
                 nobody waiting"
                    .to_owned(),
            ),
            (None, Some(_)) => wrong("a queue needs a limit of workers".to_owned()),
            _ => Ok(()),
        }
    }

    /// The body's length and which reply that is: a draw from the sizes.
    fn size(&self, body: usize, random: &mut Random) -> (usize, Option<u16>) {
        let weights: f64 = self
            .sizes
            .iter()
            .map(|(_, weight)| f64::from(*weight))
            .sum();
        let mut left = random.unit() * weights;
        for (index, (size, weight)) in self.sizes.iter().enumerate() {
            left -= f64::from(*weight);
            if left <= 0.0 && *weight > 0 {
                return (*size, Some(index as u16));
            }
        }
        (body, None)
    }

    /// Number of the reply that an error is, and of the one where the queue is full.
    fn error_replies(&self) -> (u16, u16) {
        let sizes = self.sizes.len() as u16;
        (sizes, sizes + 1)
    }
}

impl OnDemand {
    /// What `demand` says, to the reply `reply`.
    ///
    /// # Errors
    /// When it cannot be carried out: a share outside 0 to 1, or limits that contradict.
    pub fn new(demand: Demand, reply: &Reply) -> Result<Self, OriginError> {
        demand.check(reply.body.len())?;
        let queue = demand.workers.map(|workers| {
            let room = demand.queue.map_or(usize::MAX, |room| room as usize);
            Mutex::new(Queue::new(workers as usize, room))
        });
        Ok(Self(Arc::new(State {
            body: reply.body.len(),
            behaves: AtomicBool::new(!demand.later),
            next: AtomicU64::new(0),
            queue,
            demand,
        })))
    }
}

impl Behaviour for OnDemand {
    const ACTS: bool = true;

    fn decide(&mut self, _request: &Request) -> Decision {
        let state = &*self.0;
        if !state.behaves.load(Ordering::Relaxed) {
            return Decision::Answer;
        }
        let (act, service) = state.act(state.next.fetch_add(1, Ordering::Relaxed));
        let Some(queue) = &state.queue else {
            let begin_at = (!service.delay.is_zero()).then(|| Instant::now() + service.delay);
            return Decision::Act(Act { begin_at, ..act });
        };
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        // Read while nobody else can come in between, so that the times are in order.
        let now = Instant::now();
        Decision::Act(state.admitted(act, service, queue.admit(now, service.whole())))
    }

    fn replies(&self, reply: &Reply) -> Vec<Reply> {
        let sized = |(size, _): &(usize, u32)| Reply {
            body: repeated(&reply.body, *size),
            ..reply.clone()
        };
        let error = |status, text: &str| Reply {
            status,
            content_type: "text/plain".to_owned(),
            body: text.as_bytes().to_vec(),
        };
        let demand = &self.0.demand;
        let mut replies: Vec<Reply> = demand.sizes.iter().map(sized).collect();
        let status = demand.error_status;
        replies.push(error(status, "an error on demand\n"));
        replies.push(error(503, "the queue is full\n"));
        replies
    }

    fn behave(&self, begin: bool) {
        self.0.behaves.store(begin, Ordering::Relaxed);
    }
}

/// How long a worker is busy with a request.
#[derive(Debug, Clone, Copy)]
struct Service {
    delay: Duration,
    /// Between the pieces of the body.
    body: Duration,
}

impl Service {
    fn whole(&self) -> Duration {
        self.delay + self.body
    }
}

impl State {
    /// What becomes of the request with this number, if there is a worker for it.
    fn act(&self, index: u64) -> (Act, Service) {
        let demand = &self.demand;
        let random = &mut Random::of_request(demand.seed, index);
        let fate = random.unit();
        let (size, sized) = demand.size(self.body, random);
        let delay = demand
            .delay
            .map_or(Duration::ZERO, |delay| delay.draw(random));
        let is_error = fate <= demand.errors;
        let ending = if is_error || fate > demand.errors + demand.resets + demand.closes {
            Ending::Whole
        } else if fate <= demand.errors + demand.resets {
            Ending::Reset
        } else {
            Ending::Closed
        };
        let sent = match ending {
            Ending::Whole => size,
            Ending::Closed => size / 2,
            Ending::Reset => 0,
        };
        let slow_body = demand.slow_body.filter(|_| !is_error);
        let body = slow_body.map_or(Duration::ZERO, |slow| {
            let gaps = sent.div_ceil(slow.bytes).saturating_sub(1);
            slow.every.saturating_mul(gaps as u32).min(TIME_MAX)
        });
        let act = Act {
            begin_at: None,
            reply: if is_error {
                Some(demand.error_replies().0)
            } else {
                sized
            },
            ending,
            slow_body,
            is_error,
            queueing: Queueing::None,
        };
        (act, Service { delay, body })
    }

    /// The same once it is known what the limit of workers does to it.
    fn admitted(&self, act: Act, service: Service, admission: Admission) -> Act {
        match admission {
            Admission::Full => Act {
                begin_at: None,
                reply: Some(self.demand.error_replies().1),
                ending: Ending::Whole,
                slow_body: None,
                is_error: false,
                queueing: Queueing::Refused,
            },
            Admission::Served { done_at, waiting } => Act {
                begin_at: Some(done_at - service.body),
                queueing: match waiting {
                    0 => Queueing::None,
                    among => Queueing::Among(among as u64),
                },
                ..act
            },
        }
    }
}

/// `text` again and again up to `size` bytes; of an empty text, letters.
fn repeated(text: &[u8], size: usize) -> Vec<u8> {
    let text = if text.is_empty() { b"x" } else { text };
    text.iter().copied().cycle().take(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply() -> Reply {
        Reply {
            status: 200,
            content_type: "text/plain".into(),
            body: b"0123456789".to_vec(),
        }
    }

    fn acts(demand: &Demand, count: u64) -> Vec<Act> {
        let upstream = OnDemand::new(demand.clone(), &reply()).unwrap();
        (0..count).map(|index| upstream.0.act(index).0).collect()
    }

    /// Three standard errors of a share of `count` draws, which a right share stays within.
    fn assert_share(found: usize, count: usize, share: f64) {
        let three = 3.0 * (share * (1.0 - share) / count as f64).sqrt();
        let found = found as f64 / count as f64;
        assert!((found - share).abs() <= three, "{found} instead of {share}");
    }

    #[test]
    fn faults_and_sizes_have_their_shares_and_come_again() {
        let demand = Demand {
            seed: 3,
            errors: 0.1,
            resets: 0.05,
            closes: 0.02,
            sizes: vec![(100, 3), (7, 0), (2000, 1)],
            ..Demand::default()
        };
        let found = acts(&demand, 20_000);
        let count = |is: &dyn Fn(&Act) -> bool| found.iter().filter(|act| is(act)).count();
        assert_share(count(&|act| act.is_error), 20_000, 0.1);
        assert_share(count(&|act| act.ending == Ending::Reset), 20_000, 0.05);
        assert_share(count(&|act| act.ending == Ending::Closed), 20_000, 0.02);
        assert_share(count(&|act| act.reply == Some(2)), 20_000, 0.9 * 0.25);
        assert_eq!(count(&|act| act.reply == Some(1)), 0, "it has no weight");
        assert!(
            found
                .iter()
                .all(|act| act.is_error == (act.reply == Some(3)))
        );
        assert_eq!(found, acts(&demand, 20_000));
        assert_ne!(found, acts(&Demand { seed: 4, ..demand }, 20_000));
    }

    #[test]
    fn a_share_of_1_is_every_request() {
        for (errors, resets, closes) in [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)] {
            let demand = Demand {
                errors,
                resets,
                closes,
                ..Demand::default()
            };
            let whole = |act: &Act| !act.is_error && act.ending == Ending::Whole;
            assert!(!acts(&demand, 1000).iter().any(whole), "{demand:?}");
        }
    }

    #[test]
    fn a_slow_body_keeps_its_worker_and_begins_before_its_end() {
        let demand = Demand {
            delay: Some(Delay::Constant(Duration::from_millis(5))),
            slow_body: Some(SlowBody {
                bytes: 4,
                every: Duration::from_millis(10),
            }),
            workers: Some(1),
            ..Demand::default()
        };
        let upstream = OnDemand::new(demand, &reply()).unwrap();
        let (act, service) = upstream.0.act(0);
        // 10 bytes are pieces of 4, 4 and 2: two gaps.
        assert_eq!(service.whole(), Duration::from_millis(25));
        let done_at = Instant::now();
        let served = Admission::Served {
            done_at,
            waiting: 3,
        };
        let admitted = upstream.0.admitted(act, service, served);
        let begin_at = Some(done_at - Duration::from_millis(20));
        assert_eq!(
            (admitted.begin_at, admitted.queueing),
            (begin_at, Queueing::Among(3))
        );
    }

    #[test]
    fn what_cannot_be_carried_out_is_refused() {
        let delay = Some(Delay::Constant(Duration::from_millis(1)));
        let base = Demand::default;
        for wrong in [
            Demand {
                errors: 1.1,
                ..base()
            },
            Demand {
                resets: f64::NAN,
                ..base()
            },
            Demand {
                errors: 0.6,
                closes: 0.6,
                ..base()
            },
            Demand {
                error_status: 200,
                ..base()
            },
            Demand {
                workers: Some(0),
                delay,
                ..base()
            },
            Demand {
                workers: Some(4),
                ..base()
            },
            Demand {
                queue: Some(4),
                delay,
                ..base()
            },
            Demand {
                sizes: vec![(5, 0)],
                ..base()
            },
            Demand {
                sizes: vec![(SIZE_MAX + 1, 1)],
                ..base()
            },
        ] {
            assert!(OnDemand::new(wrong.clone(), &reply()).is_err(), "{wrong:?}");
        }
    }
}
