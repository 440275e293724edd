//! The window's parts and looks as time passes, and the next moment at which one is due.

use bakeoff_record::DuePart;

use super::Window;
use super::looks::Looks;
use super::parts::{PARTS_MAX, PARTS_MAX_SHAPED, Parts};

/// What of the ledger follows the clock.
pub(super) struct Clock {
    /// When something of it is due next.
    pub(super) next: u64,
    /// The window's edge that was passed last; 0 before.
    pub(super) passed: u64,
    /// When a request began last; 0 before.
    pub(super) begun: u64,
    pub(super) is_unsettled: bool,
    pub(super) parts: Parts,
    pub(super) looks: Looks,
    /// Length of the parts of `due_parts`, nanoseconds.
    due_length: u64,
    due_parts: Vec<DuePart>,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self {
            next: u64::MAX,
            passed: 0,
            begun: 0,
            is_unsettled: false,
            parts: Parts::default(),
            looks: Looks::default(),
            due_length: 0,
            due_parts: Vec::new(),
        }
    }

    /// The load begins at `zero`.
    pub(super) fn begin(&mut self, zero: u64, window: &Window) {
        let added = std::mem::take(&mut self.parts.added);
        let most = if window.is_shaped {
            PARTS_MAX_SHAPED
        } else {
            PARTS_MAX
        };
        self.parts = Parts::new(zero, window.interval, most);
        self.parts.added = added;
        self.due_length = window.interval;
        let length = window.end - window.start;
        // As parts are joined: when there are as many.
        while length.div_ceil(self.due_length.max(1)) >= most as u64 {
            self.due_length *= 2;
        }
        self.next = self.parts.end().min(window.start);
    }

    /// Passes what is due inside the warm-up or the window at `at`.
    pub(super) fn pass_inner(&mut self, at: u64, in_flight: u64) {
        if at >= self.looks.next() {
            self.looks.look(in_flight);
        }
        if at >= self.parts.end() {
            self.parts.finish(self.parts.end());
        }
    }

    /// Finds out what is due next, the window's next edge being at `edge`.
    pub(super) fn set_next(&mut self, edge: u64) {
        self.next = if edge == u64::MAX {
            u64::MAX
        } else {
            edge.min(self.parts.end()).min(self.looks.next())
        };
    }

    /// The part of the window, which began at `start`, that `due` lies in.
    pub(super) fn due_part(&mut self, start: u64, due: u64) -> &mut DuePart {
        let index = ((due - start) / self.due_length.max(1)) as usize;
        if index >= self.due_parts.len() {
            self.due_parts.resize(index + 1, DuePart::default());
        }
        &mut self.due_parts[index]
    }

    /// The parts by when requests were due, with their places in the window.
    pub(super) fn take_due_parts(&mut self) -> Vec<DuePart> {
        let length_s = self.due_length as f64 / 1e9;
        let mut parts = std::mem::take(&mut self.due_parts);
        for (index, part) in parts.iter_mut().enumerate() {
            (part.start_s, part.length_s) = (index as f64 * length_s, length_s);
        }
        parts
    }
}
