//! The counters of the front end.

use super::io::Counter;
use crate::info::{Info, PortDoc};
use crate::parts::{Register, bank, number, numbers};
use rust_hdl::prelude::*;

/// Bits of a counter.
pub const COUNT_BITS: usize = 48;

/// Adds up a number of `W` bits.
#[derive(LogicBlock)]
pub struct SumCounter<const W: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// Is added.
    pub by_i: Signal<In, Bits<W>>,
    /// The sum so far.
    pub count_o: Signal<Out, Bits<48>>,
    count: Register<Bits<48>>,
}

impl<const W: usize> Default for SumCounter<W> {
    fn default() -> Self {
        Self {
            info: Info::module(
                "sum_counter",
                "",
                &[("by_i", "", "is added"), ("count_o", "", "the sum so far")],
            )
            .param("WIDTH", "w", W),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            by_i: Signal::default(),
            count_o: Signal::default(),
            count: Register::default(),
        }
    }
}

impl<const W: usize> Logic for SumCounter<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.count.clk_i.next = self.clk_i.val();
        self.count.rst_ni.next = self.rst_ni.val();
        self.count.d_i.next = self.count.q_o.val() + bit_cast::<48, W>(self.by_i.val());
        self.count_o.next = self.count.q_o.val();
    }
}

const PORTS: &[PortDoc] = &[
    ("occupancy_i", "", "kernels in the window"),
    ("stall_limit_i", "", "the host waits for the oldest kernel"),
    ("stall_full_i", "", "the host waits for a slot"),
    ("stall_busy_i", "", "the host waits for the window"),
    ("taken_i", "", "a CTA is taken from its channel"),
    ("type_i", "", "its type"),
    ("waits_i", "", "a CTA waits on its channel"),
    ("no_room_i", "", "a CTA found no room"),
    ("done_i", "", "a completion is taken"),
    ("retired_i", "", "a kernel retires"),
    ("sel_i", "", "number of the counter that is read"),
    ("count_o", "", "its value, or 0"),
];

/// All counters: see [`Counter`].
#[derive(LogicBlock)]
pub struct Counters {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// Kernels in the window.
    pub occupancy_i: Signal<In, Bits<8>>,
    /// The host waits for the oldest kernel.
    pub stall_limit_i: Signal<In, Bit>,
    /// The host waits for a slot.
    pub stall_full_i: Signal<In, Bit>,
    /// The host waits for the window.
    pub stall_busy_i: Signal<In, Bit>,
    /// A CTA is taken from its channel.
    pub taken_i: Vec<Signal<In, Bit>>,
    /// Its type.
    pub type_i: Vec<Signal<In, Bit>>,
    /// A CTA waits on its channel.
    pub waits_i: Vec<Signal<In, Bit>>,
    /// A CTA found no room.
    pub no_room_i: Vec<Signal<In, Bit>>,
    /// A completion is taken.
    pub done_i: Vec<Signal<In, Bit>>,
    /// A kernel retires.
    pub retired_i: Vec<Signal<In, Bit>>,
    /// Which counter is read.
    pub sel_i: Signal<In, Bits<4>>,
    /// Its value.
    pub count_o: Signal<Out, Bits<48>>,
    /// CTAs on SMs.
    ctas: Register<Bits<16>>,
    window_sum: SumCounter<8>,
    cta_sum: SumCounter<16>,
    event: Vec<SumCounter<3>>,
    by: Vec<Signal<Local, Bits<3>>>,
    ctas_next: Signal<Local, Bits<16>>,
    count: Signal<Local, Bits<48>>,
    none: Constant<Bits<3>>,
    one: Constant<Bits<3>>,
    one_cta: Constant<Bits<16>>,
    zero: Constant<Bits<48>>,
    at_window_sum: Constant<Bits<4>>,
    at_cta_sum: Constant<Bits<4>>,
    at: Vec<Constant<Bits<4>>>,
    _channels: usize,
    _retire_ports: usize,
    _events: usize,
}

/// The counters of events, in the order of `event`.
const EVENTS: [Counter; 11] = [
    Counter::Cycles,
    Counter::StallLimit,
    Counter::StallFull,
    Counter::StallBusy,
    Counter::Retired,
    Counter::PlacedSimt,
    Counter::PlacedTensor,
    Counter::NoRoom0,
    Counter::NoRoom1,
    Counter::CtaWait0,
    Counter::CtaWait1,
];

impl Counters {
    /// For a front end with so many CTA channels and retire ports.
    pub fn new(channels: usize, retire_ports: usize) -> Self {
        let at = |counter: Counter| counter as u128;
        Self {
            info: Info::module("front_end_counters", "", PORTS).param("CHANNELS", "c", channels).param(
                "RETIRE_PORTS",
                "r",
                retire_ports,
            ),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            occupancy_i: Signal::default(),
            stall_limit_i: Signal::default(),
            stall_full_i: Signal::default(),
            stall_busy_i: Signal::default(),
            taken_i: bank(channels),
            type_i: bank(channels),
            waits_i: bank(channels),
            no_room_i: bank(channels),
            done_i: bank(4),
            retired_i: bank(retire_ports),
            sel_i: Signal::default(),
            count_o: Signal::default(),
            ctas: Register::default(),
            window_sum: SumCounter::default(),
            cta_sum: SumCounter::default(),
            event: bank(EVENTS.len()),
            by: bank(EVENTS.len()),
            ctas_next: Signal::default(),
            count: Signal::default(),
            none: number(0),
            one: number(1),
            one_cta: number(1),
            zero: number(0),
            at_window_sum: number(at(Counter::WindowSum)),
            at_cta_sum: number(at(Counter::CtaSum)),
            at: numbers(EVENTS.len(), |i| at(EVENTS[i])),
            _channels: channels,
            _retire_ports: retire_ports,
            _events: EVENTS.len(),
        }
    }
}

impl Logic for Counters {
    #[hdl_gen]
    fn update(&mut self) {
        self.ctas.clk_i.next = self.clk_i.val();
        self.ctas.rst_ni.next = self.rst_ni.val();
        self.window_sum.clk_i.next = self.clk_i.val();
        self.window_sum.rst_ni.next = self.rst_ni.val();
        self.cta_sum.clk_i.next = self.clk_i.val();
        self.cta_sum.rst_ni.next = self.rst_ni.val();
        self.window_sum.by_i.next = self.occupancy_i.val();
        self.cta_sum.by_i.next = self.ctas.q_o.val();

        self.by[0].next = self.one.val();
        for e in 1..11 {
            self.by[e].next = self.none.val();
        }
        if self.stall_limit_i.val() {
            self.by[1].next = self.one.val();
        }
        if self.stall_full_i.val() {
            self.by[2].next = self.one.val();
        }
        if self.stall_busy_i.val() {
            self.by[3].next = self.one.val();
        }
        for r in 0..self._retire_ports {
            if self.retired_i[r].val() {
                self.by[4].next = self.by[4].val() + self.one.val();
            }
        }
        self.ctas_next.next = self.ctas.q_o.val();
        for c in 0..self._channels {
            if self.taken_i[c].val() {
                self.ctas_next.next = self.ctas_next.val() + self.one_cta.val();
                if self.type_i[c].val() {
                    self.by[6].next = self.by[6].val() + self.one.val();
                } else {
                    self.by[5].next = self.by[5].val() + self.one.val();
                }
            }
            if self.no_room_i[c].val() {
                self.by[c + 7].next = self.one.val();
            }
            if self.waits_i[c].val() {
                self.by[c + 9].next = self.one.val();
            }
        }
        for p in 0..4 {
            if self.done_i[p].val() {
                self.ctas_next.next = self.ctas_next.val() - self.one_cta.val();
            }
        }
        self.ctas.d_i.next = self.ctas_next.val();

        self.count.next = self.zero.val();
        if self.sel_i.val() == self.at_window_sum.val() {
            self.count.next = self.window_sum.count_o.val();
        }
        if self.sel_i.val() == self.at_cta_sum.val() {
            self.count.next = self.cta_sum.count_o.val();
        }
        for e in 0..self._events {
            self.event[e].clk_i.next = self.clk_i.val();
            self.event[e].rst_ni.next = self.rst_ni.val();
            self.event[e].by_i.next = self.by[e].val();
            if self.sel_i.val() == self.at[e].val() {
                self.count.next = self.event[e].count_o.val();
            }
        }
        self.count_o.next = self.count.val();
    }
}
