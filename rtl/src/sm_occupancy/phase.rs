//! Where the slices of the SM array are.

use crate::info::Info;
use crate::parts::{Register, number};
use rust_hdl::prelude::*;

/// Counts the phases of a turn from reset, so that all blocks that work on slices are in step without a wire between them.
#[derive(LogicBlock)]
pub struct SlicePhase {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// One-hot: the slice at stage C, where needs are compared.
    pub at_c_o: Signal<Out, Bits<3>>,
    /// The slice at stage P, where arbiters pick.
    pub at_p_o: Signal<Out, Bits<3>>,
    /// The slice at stage U, where entries are updated.
    pub at_u_o: Signal<Out, Bits<3>>,
    /// Changes with every turn.
    pub turn_o: Signal<Out, Bit>,
    /// The three cycles after reset: the slice at U becomes empty.
    pub init_o: Signal<Out, Bit>,
    phase: Register<Bits<2>>,
    turn: Register<Bit>,
    running: Register<Bit>,
    zero: Constant<Bits<2>>,
    one: Constant<Bits<2>>,
    last: Constant<Bits<2>>,
    slice: [Constant<Bits<3>>; 3],
}

impl Default for SlicePhase {
    fn default() -> Self {
        Self {
            info: Info::module(
                "slice_phase",
                "",
                &[
                    ("at_c_o", "", "one-hot: the slice at stage C"),
                    ("at_p_o", "", "the slice at stage P"),
                    ("at_u_o", "", "the slice at stage U"),
                    ("turn_o", "", "changes with every turn"),
                    ("init_o", "", "the three cycles after reset"),
                ],
            ),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            at_c_o: Signal::default(),
            at_p_o: Signal::default(),
            at_u_o: Signal::default(),
            turn_o: Signal::default(),
            init_o: Signal::default(),
            phase: Register::default(),
            turn: Register::default(),
            running: Register::default(),
            zero: number(0),
            one: number(1),
            last: number(2),
            slice: [number(1), number(2), number(4)],
        }
    }
}

impl Logic for SlicePhase {
    #[hdl_gen]
    fn update(&mut self) {
        self.phase.clk_i.next = self.clk_i.val();
        self.phase.rst_ni.next = self.rst_ni.val();
        self.turn.clk_i.next = self.clk_i.val();
        self.turn.rst_ni.next = self.rst_ni.val();
        self.running.clk_i.next = self.clk_i.val();
        self.running.rst_ni.next = self.rst_ni.val();

        self.phase.d_i.next = self.phase.q_o.val() + self.one.val();
        self.turn.d_i.next = self.turn.q_o.val();
        self.running.d_i.next = self.running.q_o.val();
        self.at_c_o.next = self.slice[1].val();
        self.at_p_o.next = self.slice[0].val();
        self.at_u_o.next = self.slice[2].val();
        if self.phase.q_o.val() == self.zero.val() {
            self.at_c_o.next = self.slice[0].val();
            self.at_p_o.next = self.slice[2].val();
            self.at_u_o.next = self.slice[1].val();
        }
        if self.phase.q_o.val() == self.last.val() {
            self.phase.d_i.next = self.zero.val();
            self.turn.d_i.next = !self.turn.q_o.val();
            self.running.d_i.next = true;
            self.at_c_o.next = self.slice[2].val();
            self.at_p_o.next = self.slice[1].val();
            self.at_u_o.next = self.slice[0].val();
        }
        self.turn_o.next = self.turn.q_o.val();
        self.init_o.next = !self.running.q_o.val();
    }
}
