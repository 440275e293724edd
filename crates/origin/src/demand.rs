//! An upstream as slow and as faulty as somebody wants it.
//!
//! What becomes of the n-th request depends on the seed and on n alone, whichever thread gets it,
//! so it is the same in every round. Requests of one connection come one after the other: a
//! pipelined one comes when the one before it has been answered.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bakeoff_plan::{DURATION_MAX, Demand, Random};

use crate::behaviour::{Act, Behaviour, Decision, Ending, Queueing};
use crate::delay::draw;
use crate::options::{OriginError, Reply};
use crate::queue::{Admission, Queue};
use crate::request::Request;

/// Different sizes that bodies can have: each is encoded beforehand.
const SIZES_MAX: usize = 64;

/// Largest body, bytes.
const SIZE_MAX: usize = 64 * 1024 * 1024;

/// Pieces that a slow body may have.
const PIECES_MAX: usize = 1_000_000;

/// What an upstream is ordered to do. Without anything it answers as if it were not there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Orders {
    /// What a plan wants of it.
    pub demand: Demand,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Sizes of the body, each with its weight: the reply's body again and again, up to the size.
    /// Empty leaves the reply's body as it is.
    pub sizes: Vec<(usize, u32)>,
    /// Whether to answer at once until [`behave`](crate::behave) says otherwise.
    pub later: bool,
}

/// Behaves as a [`Demand`] says.
#[derive(Debug, Clone)]
pub struct OnDemand(Arc<State>);

/// What all threads share.
#[derive(Debug)]
struct State {
    orders: Orders,
    /// Length of the reply's body, where no sizes are drawn.
    body: usize,
    behaves: AtomicBool,
    /// Number of the next request.
    next: AtomicU64,
    queue: Option<Mutex<Queue>>,
}

impl From<Demand> for Orders {
    fn from(demand: Demand) -> Self {
        Self {
            demand,
            ..Self::default()
        }
    }
}

impl Orders {
    /// Whether they change no answer.
    pub fn is_nothing(&self) -> bool {
        self.demand.is_nothing() && self.sizes.is_empty()
    }

    /// Checks that they can be carried out on a body of `body` bytes.
    fn check(&self, body: usize) -> Result<(), OriginError> {
        let wrong = |text: String| Err(OriginError::Demand(text));
        self.demand.check().or_else(wrong)?;
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
        if let Some(slow) = &self.demand.slow_body {
            let pieces = largest.unwrap_or(body).div_ceil(slow.bytes.max(1) as usize);
            if slow.bytes == 0 || pieces > PIECES_MAX {
                return wrong(format!(
                    "a slow body has pieces of at least 1 byte, up to {PIECES_MAX} of them"
                ));
            }
        }
        Ok(())
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
    /// What `orders` say, to the reply `reply`.
    ///
    /// # Errors
    /// When it cannot be carried out: a share outside 0 to 1, or limits that contradict.
    pub fn new(orders: impl Into<Orders>, reply: &Reply) -> Result<Self, OriginError> {
        let orders = orders.into();
        orders.check(reply.body.len())?;
        let demand = &orders.demand;
        let queue = demand.workers.map(|workers| {
            let room = demand.queue.map_or(usize::MAX, |room| room as usize);
            Mutex::new(Queue::new(workers as usize, room))
        });
        Ok(Self(Arc::new(State {
            body: reply.body.len(),
            behaves: AtomicBool::new(!orders.later),
            next: AtomicU64::new(0),
            queue,
            orders,
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
        let mut replies: Vec<Reply> = self.0.orders.sizes.iter().map(sized).collect();
        let status = self.0.orders.demand.error_status;
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
        let demand = &self.orders.demand;
        let random = &mut Random::of_request(self.orders.seed, index);
        let fate = random.unit();
        let (size, sized) = self.orders.size(self.body, random);
        let delay = demand
            .delay
            .map_or(Duration::ZERO, |delay| draw(delay, random));
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
            let gaps = sent.div_ceil(slow.bytes as usize).saturating_sub(1);
            slow.every.saturating_mul(gaps as u32).min(DURATION_MAX)
        });
        let act = Act {
            begin_at: None,
            reply: if is_error {
                Some(self.orders.error_replies().0)
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
                reply: Some(self.orders.error_replies().1),
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
    use bakeoff_plan::{Delay, SlowBody};

    use super::*;

    fn reply() -> Reply {
        Reply {
            status: 200,
            content_type: "text/plain".into(),
            body: b"0123456789".to_vec(),
        }
    }

    fn acts(orders: impl Into<Orders>, count: u64) -> Vec<Act> {
        let upstream = OnDemand::new(orders, &reply()).unwrap();
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
            errors: 0.1,
            resets: 0.05,
            closes: 0.02,
            ..Demand::default()
        };
        let orders = Orders {
            seed: 3,
            sizes: vec![(100, 3), (7, 0), (2000, 1)],
            ..demand.into()
        };
        let found = acts(orders.clone(), 20_000);
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
        assert_eq!(found, acts(orders.clone(), 20_000));
        assert_ne!(found, acts(Orders { seed: 4, ..orders }, 20_000));
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
            assert!(!acts(demand.clone(), 1000).iter().any(whole), "{demand:?}");
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
        let slow = |bytes| {
            let every = Duration::from_millis(1);
            Some(SlowBody { bytes, every })
        };
        let check = |demand: Demand, sizes: &[(usize, u32)]| {
            let orders = Orders {
                sizes: sizes.to_vec(),
                ..demand.into()
            };
            OnDemand::new(orders, &reply()).is_ok()
        };
        let demand = |slow_body, errors| Demand {
            slow_body,
            errors,
            ..Demand::default()
        };
        assert!(check(demand(slow(1), 1.0), &[(5, 1), (PIECES_MAX, 0)]));
        assert!(!check(demand(None, 1.1), &[]));
        assert!(!check(demand(slow(0), 0.0), &[]));
        assert!(!check(demand(slow(1), 0.0), &[(PIECES_MAX + 1, 1)]));
        assert!(!check(demand(None, 0.0), &[(5, 0)]));
        assert!(!check(demand(None, 0.0), &[(SIZE_MAX + 1, 1)]));
    }
}
