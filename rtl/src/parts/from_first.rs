//! From the lowest request on.

use super::number;
use crate::info::Info;
use crate::params::slot_bits;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Sets every bit from the lowest request on: a prefix OR, ⌈log₂ N⌉ gates deep.
///
/// | Port | Dir | Width | Meaning |
/// |---|---|---|---|
/// | `req_i` | in | `N` | requests |
/// | `from_o` | out | `N` | bit i: one of the requests 0 to i is set; combinational |
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct FromFirst<const N: usize> {
    info: Info,
    /// Requests.
    pub req_i: Signal<In, Bits<N>>,
    /// The lowest request and all bits above it.
    pub from_o: Signal<Out, Bits<N>>,
    /// `from_o`, gathered over the levels.
    from: Signal<Local, Bits<N>>,
    /// Level l looks back by 2^l requests.
    distance: Vec<Constant<Bits<8>>>,
    _levels: usize,
}

impl<const N: usize> Default for FromFirst<N> {
    fn default() -> Self {
        let levels = slot_bits(N);
        Self {
            info: Info::module("from_first", "").fields::<Self>(&[]).param("REQUESTS", "n", N),
            req_i: Signal::default(),
            from_o: Signal::default(),
            from: Signal::default(),
            distance: (0..levels).map(|level| number(1 << level)).collect(),
            _levels: levels,
        }
    }
}

impl<const N: usize> Logic for FromFirst<N> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("Each level reaches twice as far as the one before.");
        self.from.next = self.req_i.val();
        for l in 0..self._levels {
            self.from.next = self.from.val() | (self.from.val() << self.distance[l].val());
        }
        self.from_o.next = self.from.val();
    }
}
