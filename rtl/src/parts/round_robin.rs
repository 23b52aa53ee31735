//! Round-robin picker.

use super::{FindFirst, Register, number};
use crate::info::Info;
use rust_hdl::prelude::*;

/// Grants one of `N` requests, starting the search after the request that was served last.
///
/// | Port | Dir | Width | Meaning |
/// |---|---|---|---|
/// | `clk_i`, `rst_ni` | in | 1 | rising edge; active low, sampled |
/// | `req_i` | in | `N` | requests; may be withdrawn |
/// | `ack_i` | in | 1 | the grant is used in this cycle: the search starts after it from the next cycle on |
/// | `gnt_o` | out | `N` | one-hot, or zero where `req_i` is zero; combinational from `req_i` |
///
/// After reset the search starts at request 0. With steady requests and `ack_i` high each is served once in `N` cycles at
/// most; without `ack_i` the grant moves only if the requests do.
#[derive(LogicBlock)]
pub struct RoundRobin<const N: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// Requests.
    pub req_i: Signal<In, Bits<N>>,
    /// The grant is used.
    pub ack_i: Signal<In, Bit>,
    /// The grant.
    pub gnt_o: Signal<Out, Bits<N>>,
    /// Requests at and below the one served last: searched only when no other asks.
    served: Register<Bits<N>>,
    upper: FindFirst<N>,
    lower: FindFirst<N>,
    gnt: Signal<Local, Bits<N>>,
    one: Constant<Bits<N>>,
}

impl<const N: usize> Default for RoundRobin<N> {
    fn default() -> Self {
        Self {
            info: Info::module(
                "round_robin",
                "",
                &[
                    ("req_i", "", "requests"),
                    ("ack_i", "", "the grant is used: the search moves on"),
                    ("gnt_o", "", "one-hot grant, or zero"),
                ],
            )
            .param("REQUESTS", "n", N),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            req_i: Signal::default(),
            ack_i: Signal::default(),
            gnt_o: Signal::default(),
            served: Register::default(),
            upper: FindFirst::default(),
            lower: FindFirst::default(),
            gnt: Signal::default(),
            one: number(1),
        }
    }
}

impl<const N: usize> Logic for RoundRobin<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.served.clk_i.next = self.clk_i.val();
        self.served.rst_ni.next = self.rst_ni.val();
        self.upper.req_i.next = self.req_i.val() & (!self.served.q_o.val());
        self.lower.req_i.next = self.req_i.val();
        if self.upper.gnt_o.val().any() {
            self.gnt.next = self.upper.gnt_o.val();
        } else {
            self.gnt.next = self.lower.gnt_o.val();
        }
        self.gnt_o.next = self.gnt.val();
        self.served.d_i.next = self.served.q_o.val();
        if self.ack_i.val() & self.gnt.val().any() {
            self.served.d_i.next = self.gnt.val() | (self.gnt.val() - self.one.val());
        }
    }
}

crate::flat_ports!(impl [const N: usize] for RoundRobin<N>: clk_i rst_ni req_i ack_i gnt_o);
