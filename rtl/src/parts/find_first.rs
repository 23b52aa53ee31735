//! Find-first: the lowest set bit, one-hot.

use super::number;
use crate::info::Info;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// `gnt_o` has the lowest set bit of `req_i`, or none. Combinational.
///
/// | Port | Dir | Width | Meaning |
/// |---|---|---|---|
/// | `req_i` | in | `N` | requests |
/// | `gnt_o` | out | `N` | one-hot, or zero where `req_i` is zero |
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct FindFirst<const N: usize> {
    info: Info,
    /// Requests.
    pub req_i: Signal<In, Bits<N>>,
    /// One-hot: the lowest request, or zero.
    pub gnt_o: Signal<Out, Bits<N>>,
    one: Constant<Bits<N>>,
}

impl<const N: usize> Default for FindFirst<N> {
    fn default() -> Self {
        Self {
            info: Info::module("find_first", "").fields::<Self>(&[]).param("REQUESTS", "n", N),
            req_i: Signal::default(),
            gnt_o: Signal::default(),
            one: number(1),
        }
    }
}

impl<const N: usize> Logic for FindFirst<N> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("Two's complement: the carry stops at the lowest set bit.");
        self.gnt_o.next = self.req_i.val() & ((!self.req_i.val()) + self.one.val());
    }
}

crate::flat_ports!(impl [const N: usize] for FindFirst<N>: - req_i gnt_o);
