//! The device model: SMs that run CTAs, cycle exact in SM clock cycles, without data.
//!
//! [`SmArray`] is the SMs alone: they run the CTAs that the front end's hardware places. [`Device`] adds today's CTA
//! dispatcher, for policies that have no hardware of ours.
//!
//! A cycle: CTAs end, kernels complete; the outside acts: it may offer one kernel, or place CTAs itself; the dispatcher places
//! CTAs of kernels that it took in an earlier cycle. Where nothing can happen, [`Device::advance`] jumps, and every number is as if
//! it had not.

pub mod array;
pub mod dispatcher;
mod sm;
pub mod work;

use crate::partition::Partitions;
use crate::profile::Profile;
pub use array::{Completion, CtaEnd, CtaSpan, NoRoom, Occupancy, SmArray};
use dispatcher::Dispatcher;
use std::ops::{Deref, DerefMut};
pub use work::{CtaWork, DeviceError};

/// SMs with the behavioural CTA dispatcher, which places nothing unless it is offered something.
#[derive(Clone, Debug)]
pub struct Device {
    array: SmArray,
    dispatcher: Dispatcher,
    /// The kernel taken in this cycle.
    incoming: Option<usize>,
    /// The dispatcher's head fits nowhere until a CTA ends.
    blocked: bool,
}

impl Deref for Device {
    type Target = SmArray;

    fn deref(&self) -> &SmArray {
        &self.array
    }
}

impl DerefMut for Device {
    fn deref_mut(&mut self) -> &mut SmArray {
        &mut self.array
    }
}

impl Device {
    /// An idle device for the kernels of one stream, in cycle 0.
    pub fn new(profile: &Profile, partitions: Partitions, kernels: Vec<CtaWork>) -> Self {
        Self {
            array: SmArray::new(profile, partitions, kernels),
            dispatcher: Dispatcher::new(profile.sms as usize),
            incoming: None,
            blocked: false,
        }
    }

    /// True where the dispatcher takes a kernel in this cycle.
    pub fn ready(&self) -> bool {
        self.incoming.is_none() && self.dispatcher.ready()
    }

    /// Offers a kernel in this cycle; true where it is taken. Its CTAs can be placed from the next cycle on.
    pub fn offer(&mut self, kernel: usize) -> bool {
        let take = self.ready() && kernel < self.array.kernels();
        if take {
            self.incoming = Some(kernel);
        }
        take
    }

    /// The next cycle that is not like the present one, as far as the device alone decides; `None` where it is idle.
    pub fn next_event(&self) -> Option<u64> {
        if self.incoming.is_some() || (self.dispatcher.head().is_some() && !self.blocked) {
            return Some(self.now() + 1);
        }
        self.array.next_event()
    }

    /// Ends the present cycle and begins the next; time passes in no other way but by [`Self::advance`].
    pub fn step(&mut self) {
        self.advance(self.now() + 1);
    }

    /// Ends the present cycle and all before cycle `to`: as many [`Self::step`]s, but jumps where nothing happens.
    pub fn advance(&mut self, to: u64) {
        while self.now() < to {
            self.dispatch();
            let next = self.next_event().unwrap_or(u64::MAX).clamp(self.now() + 1, to);
            if self.array.go_to(next) {
                self.blocked = false;
            }
        }
    }

    /// The dispatcher's part of a cycle.
    fn dispatch(&mut self) {
        if let Some(head) = self.dispatcher.head()
            && !self.blocked
        {
            match self.dispatcher.place(|sm| self.array.fits(head, sm)) {
                None => self.blocked = true,
                Some(placement) => {
                    let placed = self.array.place(placement.kernel, placement.sm);
                    debug_assert_eq!(placed, Ok(()), "the dispatcher asked first");
                }
            }
        }
        if let Some(kernel) = self.incoming.take() {
            self.dispatcher.take(kernel, self.array.work(kernel).ctas);
        }
    }
}
