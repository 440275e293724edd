//! Which request is next, and how many a thread may still begin.

use crate::choice::Choice;
use crate::flight::Origin;
use crate::spec::{BodyCheck, Exchange, LoadSpec};

/// The requests that a thread may still begin.
pub(crate) struct Supply<'a> {
    exchanges: &'a [Exchange],
    choice: Choice,
    check: BodyCheck,
    /// Requests until the next body is compared.
    until_check: u32,
    left: u64,
}

impl<'a> Supply<'a> {
    /// `left` requests for thread number `thread`.
    pub(crate) fn new(spec: &'a LoadSpec, thread: usize, left: u64) -> Self {
        Self {
            exchanges: &spec.exchanges,
            choice: Choice::new(spec, thread),
            check: spec.check,
            until_check: 0,
            left,
        }
    }

    /// Whether no request may begin any more.
    #[inline]
    pub(crate) fn is_used_up(&self) -> bool {
        self.left == 0
    }

    /// The next request, due at `intended` and begun at `began`.
    #[inline(always)]
    pub(crate) fn take(&mut self, intended: u64, began: u64, was_short: bool) -> Origin {
        self.left -= 1;
        let exchange = self.choice.next();
        Origin {
            began,
            intended,
            exchange,
            check: self.take_check(exchange),
            was_short,
            is_first: false,
        }
    }

    /// Whether this answer's body is to be compared byte by byte.
    #[inline(always)]
    fn take_check(&mut self, exchange: u32) -> bool {
        if self.exchanges[exchange as usize].body.is_none() {
            return false;
        }
        match self.check {
            BodyCheck::All => true,
            BodyCheck::OneIn(_) if self.until_check > 0 => {
                self.until_check -= 1;
                false
            }
            BodyCheck::OneIn(each) => {
                self.until_check = each.saturating_sub(1);
                true
            }
        }
    }
}
