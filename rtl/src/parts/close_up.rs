//! A set of places, one of which is closed.

use super::number;
use crate::info::Info;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Moves the upper part of a set of places down by one.
///
/// | Port | Dir | Width | Meaning |
/// |---|---|---|---|
/// | `shift_i` | in | `N` | the place that is closed and all above it, or none |
/// | `places_i` | in | `N` | a set of places |
/// | `places_o` | out | `N` | the same set afterwards: without the closed place, what was above it one lower; combinational |
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct CloseUp<const N: usize> {
    info: Info,
    /// The place that is closed and all above it, or none.
    pub shift_i: Signal<In, Bits<N>>,
    /// A set of places.
    pub places_i: Signal<In, Bits<N>>,
    /// The same set when the place is closed.
    pub places_o: Signal<Out, Bits<N>>,
    step: Constant<Bits<1>>,
}

impl<const N: usize> Default for CloseUp<N> {
    fn default() -> Self {
        Self {
            info: Info::module("close_up", "").fields::<Self>(&[]).param("PLACES", "n", N),
            shift_i: Signal::default(),
            places_i: Signal::default(),
            places_o: Signal::default(),
            step: number(1),
        }
    }
}

impl<const N: usize> Logic for CloseUp<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.places_o.next = (self.shift_i.val() & (self.places_i.val() >> self.step.val()))
            | ((!self.shift_i.val()) & self.places_i.val());
    }
}
