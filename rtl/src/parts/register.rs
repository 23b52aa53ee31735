//! Registers: with reset for what decides, without for what is only carried.

use crate::info::Info;
use rust_hdl::prelude::*;

/// A register with synchronous, active-low reset.
///
/// | Port | Dir | Width | Meaning |
/// |---|---|---|---|
/// | `clk_i` | in | 1 | rising edge |
/// | `rst_ni` | in | 1 | low: `q_o` takes zero at the edge |
/// | `d_i` | in | `T` | next value |
/// | `q_o` | out | `T` | value, one cycle after `d_i` |
///
/// rust-hdl's stock flip-flop has an `initial` value and no reset; this one is the other way round, as an ASIC needs it.
#[derive(LogicBlock)]
pub struct Register<T: Synth> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// Next value.
    pub d_i: Signal<In, T>,
    /// Value.
    pub q_o: Signal<Out, T>,
}

impl<T: Synth> Default for Register<T> {
    fn default() -> Self {
        Self {
            info: Info::register(),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            d_i: Signal::default(),
            q_o: Signal::default(),
        }
    }
}

impl<T: Synth> Logic for Register<T> {
    fn update(&mut self) {
        if self.clk_i.pos_edge() {
            self.q_o.next = if self.rst_ni.val() { self.d_i.val() } else { T::default() };
        }
    }
    fn connect(&mut self) {
        self.q_o.connect();
    }
}

/// A register without reset, for state whose value before it is first written reaches no output.
///
/// Ports as [`Register`], without `rst_ni`. Saves a gate per bit; Verilog simulations start it at random values, so that
/// lockstep notices when it does reach an output.
#[derive(LogicBlock)]
pub struct PayloadRegister<T: Synth> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Next value.
    pub d_i: Signal<In, T>,
    /// Value.
    pub q_o: Signal<Out, T>,
}

impl<T: Synth> Default for PayloadRegister<T> {
    fn default() -> Self {
        Self {
            info: Info::register(),
            clk_i: Signal::default(),
            d_i: Signal::default(),
            q_o: Signal::default(),
        }
    }
}

impl<T: Synth> Logic for PayloadRegister<T> {
    fn update(&mut self) {
        if self.clk_i.pos_edge() {
            self.q_o.next = self.d_i.val();
        }
    }
    fn connect(&mut self) {
        self.q_o.connect();
    }
}
