//! The counters of the front end.

use super::io::Counter;
use crate::info::Info;
use crate::params::DispatchParams;
use crate::parts::{Register, bank, number, numbers};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Adds up a number of `W` bits, at most 16, in three limbs of 16 bits. A carry takes a cycle: the limbs of one sum are seen one
/// after the other, `low_o` first, `mid_o` in the cycle after it, `high_o` in the one after that.
///
/// In one piece the 48 bits were the longest path of the whole front end.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct SumCounter<const W: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// Is added.
    pub by_i: Signal<In, Bits<W>>,
    /// Bits 0 to 15 of the sum so far.
    pub low_o: Signal<Out, Bits<16>>,
    /// Bits 16 to 31 of the sum one cycle ago.
    pub mid_o: Signal<Out, Bits<16>>,
    /// Bits 32 to 47 of the sum two cycles ago.
    pub high_o: Signal<Out, Bits<16>>,
    /// Bits 0 to 15 of the sum so far.
    low: Register<Bits<16>>,
    /// A carry out of `low` that `mid` does not have yet.
    low_carry: Register<Bit>,
    /// Bits 16 to 31 of the sum one cycle ago.
    mid: Register<Bits<16>>,
    /// A carry out of `mid` that `high` does not have yet.
    mid_carry: Register<Bit>,
    /// Bits 32 to 47 of the sum two cycles ago.
    high: Register<Bits<16>>,
    /// `low` of the next cycle, with its carry.
    low_sum: Signal<Local, Bits<17>>,
    /// `mid` of the next cycle, with its carry.
    mid_sum: Signal<Local, Bits<17>>,
}

impl<const W: usize> Default for SumCounter<W> {
    fn default() -> Self {
        Self {
            info: Info::module("sum_counter", "").fields::<Self>(&[]).param("WIDTH", "w", W),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            by_i: Signal::default(),
            low_o: Signal::default(),
            mid_o: Signal::default(),
            high_o: Signal::default(),
            low: Register::default(),
            low_carry: Register::default(),
            mid: Register::default(),
            mid_carry: Register::default(),
            high: Register::default(),
            low_sum: Signal::default(),
            mid_sum: Signal::default(),
        }
    }
}

impl<const W: usize> Logic for SumCounter<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.low.clk_i.next = self.clk_i.val();
        self.low.rst_ni.next = self.rst_ni.val();
        self.low_carry.clk_i.next = self.clk_i.val();
        self.low_carry.rst_ni.next = self.rst_ni.val();
        self.mid.clk_i.next = self.clk_i.val();
        self.mid.rst_ni.next = self.rst_ni.val();
        self.mid_carry.clk_i.next = self.clk_i.val();
        self.mid_carry.rst_ni.next = self.rst_ni.val();
        self.high.clk_i.next = self.clk_i.val();
        self.high.rst_ni.next = self.rst_ni.val();
        comment!("A carry is added to the next limb a cycle later.");
        self.low_sum.next = bit_cast::<17, 16>(self.low.q_o.val()) + bit_cast::<17, W>(self.by_i.val());
        self.low.d_i.next = bit_cast::<16, 17>(self.low_sum.val());
        self.low_carry.d_i.next = self.low_sum.val().get_bit(16);
        self.mid_sum.next = bit_cast::<17, 16>(self.mid.q_o.val()) + self.low_carry.q_o.val();
        self.mid.d_i.next = bit_cast::<16, 17>(self.mid_sum.val());
        self.mid_carry.d_i.next = self.mid_sum.val().get_bit(16);
        self.high.d_i.next = self.high.q_o.val() + self.mid_carry.q_o.val();
        self.low_o.next = self.low.q_o.val();
        self.mid_o.next = self.mid.q_o.val();
        self.high_o.next = self.high.q_o.val();
    }
}

/// All counters: see [`Counter`].
///
/// Events go into registers first, so that what happens late in a cycle has little behind it; all counters run one cycle behind.
#[derive(LogicBlock, DocumentedFieldsOpt)]
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
    /// Of each CTA port, a CTA is taken from it.
    pub taken_i: Vec<Signal<In, Bit>>,
    /// Its type.
    pub type_i: Vec<Signal<In, Bit>>,
    /// Of each channel, a CTA waits.
    pub waits_i: Vec<Signal<In, Bit>>,
    /// Of each channel, a CTA found no room.
    pub no_room_i: Vec<Signal<In, Bit>>,
    /// A completion is taken.
    pub done_i: Vec<Signal<In, Bit>>,
    /// A kernel retires.
    pub retired_i: Vec<Signal<In, Bit>>,
    /// Number of the counter that is read.
    pub sel_i: Signal<In, Bits<4>>,
    /// Value of the counter named two cycles ago, as it was one cycle before that; 0 for a number that none has.
    pub count_o: Signal<Out, Bits<48>>,
    /// The cycle before was not in reset.
    running: Register<Bit>,
    /// Kernels in the window, in the cycle before.
    occupancy: Register<Bits<8>>,
    /// The host waited for the oldest kernel in the cycle before.
    stall_limit: Register<Bit>,
    /// It waited for a slot.
    stall_full: Register<Bit>,
    /// It waited for the window.
    stall_busy: Register<Bit>,
    /// Of each CTA port, a SIMT CTA was taken in the cycle before.
    simt: Vec<Register<Bit>>,
    /// Of each CTA port, a TENSOR CTA was taken.
    tensor: Vec<Register<Bit>>,
    /// Of each channel, a CTA waited.
    waits: Vec<Register<Bit>>,
    /// Of each channel, a CTA found no room.
    no_room: Vec<Register<Bit>>,
    /// Of each completion port, a completion was taken in the cycle before.
    done: Vec<Register<Bit>>,
    /// Of each retire port, a kernel retired in the cycle before.
    retired: Vec<Register<Bit>>,
    /// CTAs on SMs.
    ctas: Register<Bits<16>>,
    /// Kernels in the window, summed over cycles.
    window_sum: SumCounter<8>,
    /// CTAs on SMs, summed over cycles.
    cta_sum: SumCounter<16>,
    /// Counters of cycles, stalls (3), retired, placed SIMT and TENSOR, no room (2), CTA waits (2).
    event: Vec<SumCounter<3>>,
    /// Which counter is read for the middle limb.
    sel_mid: Register<Bits<4>>,
    /// Which counter is read for the high limb.
    sel_high: Register<Bits<4>>,
    /// The low limb that was read in the cycle before.
    low: Register<Bits<16>>,
    /// The low limb that was read two cycles ago: it waits for the high one.
    low_too: Register<Bits<16>>,
    /// The middle limb that was read in the cycle before: it waits for the high one.
    mid: Register<Bits<16>>,
    /// Of each event's counter, what is added to it.
    by: Vec<Signal<Local, Bits<3>>>,
    /// CTAs that were taken in the cycle before.
    up: Signal<Local, Bits<4>>,
    /// CTAs whose completions were taken in the cycle before.
    down: Signal<Local, Bits<3>>,
    /// `up` less `down`, in two's complement.
    change: Signal<Local, Bits<5>>,
    /// The same, as wide as `ctas`.
    net: Signal<Local, Bits<16>>,
    /// The low limb that is read in this cycle.
    low_read: Signal<Local, Bits<16>>,
    /// The middle limb that is read in this cycle.
    mid_read: Signal<Local, Bits<16>>,
    /// The high limb that is read in this cycle.
    high_read: Signal<Local, Bits<16>>,
    none: Constant<Bits<3>>,
    one: Constant<Bits<3>>,
    no_cta: Constant<Bits<4>>,
    one_cta: Constant<Bits<4>>,
    sign: Constant<Bits<16>>,
    zero: Constant<Bits<16>>,
    at_window_sum: Constant<Bits<4>>,
    at_cta_sum: Constant<Bits<4>>,
    at: Vec<Constant<Bits<4>>>,
    _channels: usize,
    _ports: usize,
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
    /// For a front end with this dispatcher and so many retire ports.
    pub fn new(params: DispatchParams, retire_ports: usize) -> Self {
        let (channels, ports) = (params.arbiter().channels(), params.cta_ports());
        let at = |counter: Counter| counter as u128;
        Self {
            info: Info::module("front_end_counters", "")
                .fields::<Self>(&[])
                .param("CHANNELS", "c", channels)
                .param("RETIRE_PORTS", "r", retire_ports)
                .param_unless(1, "PLACES", "p", params.places()),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            occupancy_i: Signal::default(),
            stall_limit_i: Signal::default(),
            stall_full_i: Signal::default(),
            stall_busy_i: Signal::default(),
            taken_i: bank(ports),
            type_i: bank(ports),
            waits_i: bank(channels),
            no_room_i: bank(channels),
            done_i: bank(4),
            retired_i: bank(retire_ports),
            sel_i: Signal::default(),
            count_o: Signal::default(),
            running: Register::default(),
            occupancy: Register::default(),
            stall_limit: Register::default(),
            stall_full: Register::default(),
            stall_busy: Register::default(),
            simt: bank(ports),
            tensor: bank(ports),
            waits: bank(channels),
            no_room: bank(channels),
            done: bank(4),
            retired: bank(retire_ports),
            ctas: Register::default(),
            window_sum: SumCounter::default(),
            cta_sum: SumCounter::default(),
            event: bank(EVENTS.len()),
            sel_mid: Register::default(),
            sel_high: Register::default(),
            low: Register::default(),
            low_too: Register::default(),
            mid: Register::default(),
            by: bank(EVENTS.len()),
            up: Signal::default(),
            down: Signal::default(),
            change: Signal::default(),
            net: Signal::default(),
            low_read: Signal::default(),
            mid_read: Signal::default(),
            high_read: Signal::default(),
            none: number(0),
            one: number(1),
            no_cta: number(0),
            one_cta: number(1),
            sign: number(0xFFE0),
            zero: number(0),
            at_window_sum: number(at(Counter::WindowSum)),
            at_cta_sum: number(at(Counter::CtaSum)),
            at: numbers(EVENTS.len(), |i| at(EVENTS[i])),
            _channels: channels,
            _ports: ports,
            _retire_ports: retire_ports,
            _events: EVENTS.len(),
        }
    }
}

impl Logic for Counters {
    #[hdl_gen]
    fn update(&mut self) {
        self.running.clk_i.next = self.clk_i.val();
        self.running.rst_ni.next = self.rst_ni.val();
        self.running.d_i.next = true;
        self.occupancy.clk_i.next = self.clk_i.val();
        self.occupancy.rst_ni.next = self.rst_ni.val();
        self.occupancy.d_i.next = self.occupancy_i.val();
        self.stall_limit.clk_i.next = self.clk_i.val();
        self.stall_limit.rst_ni.next = self.rst_ni.val();
        self.stall_limit.d_i.next = self.stall_limit_i.val();
        self.stall_full.clk_i.next = self.clk_i.val();
        self.stall_full.rst_ni.next = self.rst_ni.val();
        self.stall_full.d_i.next = self.stall_full_i.val();
        self.stall_busy.clk_i.next = self.clk_i.val();
        self.stall_busy.rst_ni.next = self.rst_ni.val();
        self.stall_busy.d_i.next = self.stall_busy_i.val();
        self.ctas.clk_i.next = self.clk_i.val();
        self.ctas.rst_ni.next = self.rst_ni.val();
        self.window_sum.clk_i.next = self.clk_i.val();
        self.window_sum.rst_ni.next = self.rst_ni.val();
        self.cta_sum.clk_i.next = self.clk_i.val();
        self.cta_sum.rst_ni.next = self.rst_ni.val();
        self.sel_mid.clk_i.next = self.clk_i.val();
        self.sel_mid.rst_ni.next = self.rst_ni.val();
        self.sel_high.clk_i.next = self.clk_i.val();
        self.sel_high.rst_ni.next = self.rst_ni.val();
        self.low.clk_i.next = self.clk_i.val();
        self.low.rst_ni.next = self.rst_ni.val();
        self.low_too.clk_i.next = self.clk_i.val();
        self.low_too.rst_ni.next = self.rst_ni.val();
        self.mid.clk_i.next = self.clk_i.val();
        self.mid.rst_ni.next = self.rst_ni.val();
        self.window_sum.by_i.next = self.occupancy.q_o.val();
        self.cta_sum.by_i.next = self.ctas.q_o.val();

        comment!("What each counter of events is to add: events of the cycle before, from registers.");
        for e in 0..11 {
            self.by[e].next = self.none.val();
        }
        if self.running.q_o.val() {
            self.by[0].next = self.one.val();
        }
        if self.stall_limit.q_o.val() {
            self.by[1].next = self.one.val();
        }
        if self.stall_full.q_o.val() {
            self.by[2].next = self.one.val();
        }
        if self.stall_busy.q_o.val() {
            self.by[3].next = self.one.val();
        }
        for r in 0..self._retire_ports {
            self.retired[r].clk_i.next = self.clk_i.val();
            self.retired[r].rst_ni.next = self.rst_ni.val();
            self.retired[r].d_i.next = self.retired_i[r].val();
            if self.retired[r].q_o.val() {
                self.by[4].next = self.by[4].val() + self.one.val();
            }
        }
        comment!("CTAs on SMs: those that came, less those that ended.");
        self.up.next = self.no_cta.val();
        for p in 0..self._ports {
            self.simt[p].clk_i.next = self.clk_i.val();
            self.simt[p].rst_ni.next = self.rst_ni.val();
            self.simt[p].d_i.next = self.taken_i[p].val() & (!self.type_i[p].val());
            self.tensor[p].clk_i.next = self.clk_i.val();
            self.tensor[p].rst_ni.next = self.rst_ni.val();
            self.tensor[p].d_i.next = self.taken_i[p].val() & self.type_i[p].val();
            if self.simt[p].q_o.val() {
                self.by[5].next = self.by[5].val() + self.one.val();
            }
            if self.tensor[p].q_o.val() {
                self.by[6].next = self.by[6].val() + self.one.val();
            }
            if self.simt[p].q_o.val() | self.tensor[p].q_o.val() {
                self.up.next = self.up.val() + self.one_cta.val();
            }
        }
        for c in 0..self._channels {
            self.waits[c].clk_i.next = self.clk_i.val();
            self.waits[c].rst_ni.next = self.rst_ni.val();
            self.waits[c].d_i.next = self.waits_i[c].val();
            self.no_room[c].clk_i.next = self.clk_i.val();
            self.no_room[c].rst_ni.next = self.rst_ni.val();
            self.no_room[c].d_i.next = self.no_room_i[c].val();
            if self.no_room[c].q_o.val() {
                self.by[c + 7].next = self.one.val();
            }
            if self.waits[c].q_o.val() {
                self.by[c + 9].next = self.one.val();
            }
        }
        self.down.next = self.none.val();
        for p in 0..4 {
            self.done[p].clk_i.next = self.clk_i.val();
            self.done[p].rst_ni.next = self.rst_ni.val();
            self.done[p].d_i.next = self.done_i[p].val();
            if self.done[p].q_o.val() {
                self.down.next = self.down.val() + self.one.val();
            }
        }
        self.change.next = bit_cast::<5, 4>(self.up.val()) - bit_cast::<5, 3>(self.down.val());
        self.net.next = bit_cast::<16, 5>(self.change.val());
        if self.change.val().get_bit(4) {
            self.net.next = bit_cast::<16, 5>(self.change.val()) | self.sign.val();
        }
        self.ctas.d_i.next = self.ctas.q_o.val() + self.net.val();

        comment!("The limbs of one value come one after the other: so does the choice of the counter.");
        self.sel_mid.d_i.next = self.sel_i.val();
        self.sel_high.d_i.next = self.sel_mid.q_o.val();
        self.low_read.next = self.zero.val();
        self.mid_read.next = self.zero.val();
        self.high_read.next = self.zero.val();
        if self.sel_i.val() == self.at_window_sum.val() {
            self.low_read.next = self.window_sum.low_o.val();
        }
        if self.sel_mid.q_o.val() == self.at_window_sum.val() {
            self.mid_read.next = self.window_sum.mid_o.val();
        }
        if self.sel_high.q_o.val() == self.at_window_sum.val() {
            self.high_read.next = self.window_sum.high_o.val();
        }
        if self.sel_i.val() == self.at_cta_sum.val() {
            self.low_read.next = self.cta_sum.low_o.val();
        }
        if self.sel_mid.q_o.val() == self.at_cta_sum.val() {
            self.mid_read.next = self.cta_sum.mid_o.val();
        }
        if self.sel_high.q_o.val() == self.at_cta_sum.val() {
            self.high_read.next = self.cta_sum.high_o.val();
        }
        for e in 0..self._events {
            self.event[e].clk_i.next = self.clk_i.val();
            self.event[e].rst_ni.next = self.rst_ni.val();
            self.event[e].by_i.next = self.by[e].val();
            if self.sel_i.val() == self.at[e].val() {
                self.low_read.next = self.event[e].low_o.val();
            }
            if self.sel_mid.q_o.val() == self.at[e].val() {
                self.mid_read.next = self.event[e].mid_o.val();
            }
            if self.sel_high.q_o.val() == self.at[e].val() {
                self.high_read.next = self.event[e].high_o.val();
            }
        }
        self.low.d_i.next = self.low_read.val();
        self.low_too.d_i.next = self.low.q_o.val();
        self.mid.d_i.next = self.mid_read.val();
        self.count_o.next = (bit_cast::<48, 16>(self.high_read.val()) << 32)
            | ((bit_cast::<48, 16>(self.mid.q_o.val()) << 16) | bit_cast::<48, 16>(self.low_too.q_o.val()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flat::RustHdlSim;
    use crate::flat_ports;
    use crate::model::CycleModel;
    use std::collections::VecDeque;

    flat_ports! { impl [const W: usize] for SumCounter<W>: rst_ni by_i low_o mid_o high_o }

    /// Into the highest limb, which no run of a whole front end lives to see.
    #[test]
    fn limbs_of_one_moment_make_the_sum() {
        let mut counter = RustHdlSim::new(SumCounter::<16>::default());
        let mut limbs = [0; 3];
        counter.cycle(&[0, 0], &mut limbs).unwrap();
        // The sum of this cycle, of the one before, and so on; low and middle limbs as they were seen.
        let (mut sum, mut state) = (0_u64, 1_u32);
        let mut seen: VecDeque<(u64, [u64; 3])> = VecDeque::new();
        for cycle in 0..90_000 {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            let by = if cycle % 5 == 0 { state >> 16 } else { 0xFFFF };
            counter.cycle(&[1, by], &mut limbs).unwrap();
            seen.push_back((sum, limbs.map(u64::from)));
            sum += u64::from(by);
            if seen.len() == 3 {
                let (then, [low, ..]) = seen[0];
                assert_eq!(low | seen[1].1[1] << 16 | seen[2].1[2] << 32, then, "cycle {cycle}");
                seen.pop_front();
            }
        }
        assert!(seen[0].0 >> 32 > 0);
    }
}
