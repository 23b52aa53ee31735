//! Where the slices of the SM array are.

use crate::info::Info;
use crate::parts::{Register, bank, number};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Counts the phases of a turn from reset, so that all blocks that work on slices are in step without a wire between them.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct SlicePhase {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// HOLDS: the slices go on at the end of this cycle.
    pub run_i: Vec<Signal<In, Bit>>,
    /// One-hot: the slice at stage C.
    pub at_c_o: Signal<Out, Bits<3>>,
    /// The slice at stage P.
    pub at_p_o: Signal<Out, Bits<3>>,
    /// The slice at stage U.
    pub at_u_o: Signal<Out, Bits<3>>,
    /// Changes with every turn.
    pub turn_o: Signal<Out, Bit>,
    /// The three cycles after reset.
    pub init_o: Signal<Out, Bit>,
    /// One-hot, the slice at C, with bit 0 inverted: reset makes it slice 0.
    slice: Register<Bits<3>>,
    /// Changes with every turn, that is, where slice 0 comes to C.
    turn: Register<Bit>,
    /// The first turn after reset is over.
    running: Register<Bit>,
    /// `at_c_o`, to be read here.
    at: Signal<Local, Bits<3>>,
    first: Constant<Bits<3>>,
    none: Constant<Bits<3>>,
    _holds: usize,
}

impl SlicePhase {
    /// `holds`, 0 or 1: the slices stand still where they are told to.
    pub fn new(holds: usize) -> Self {
        Self {
            info: Info::module("slice_phase", "").fields::<Self>(&[]).param_unless(0, "HOLDS", "hold", holds),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            run_i: bank(holds),
            at_c_o: Signal::default(),
            at_p_o: Signal::default(),
            at_u_o: Signal::default(),
            turn_o: Signal::default(),
            init_o: Signal::default(),
            slice: Register::default(),
            turn: Register::default(),
            running: Register::default(),
            at: Signal::default(),
            first: number(1),
            none: number(0),
            _holds: holds,
        }
    }
}

impl Logic for SlicePhase {
    #[hdl_gen]
    fn update(&mut self) {
        self.slice.clk_i.next = self.clk_i.val();
        self.slice.rst_ni.next = self.rst_ni.val();
        self.turn.clk_i.next = self.clk_i.val();
        self.turn.rst_ni.next = self.rst_ni.val();
        self.running.clk_i.next = self.clk_i.val();
        self.running.rst_ni.next = self.rst_ni.val();

        comment!("One-hot in flip-flops, so that nothing has to decode it.");
        self.at.next = self.slice.q_o.val() ^ self.first.val();
        self.slice.d_i.next = self
            .none
            .val()
            .replace_bit(0, !self.at.val().get_bit(2))
            .replace_bit(1, self.at.val().get_bit(0))
            .replace_bit(2, self.at.val().get_bit(1));
        self.at_c_o.next = self.at.val();
        comment!("At P is the slice that was at C a cycle before, at U the one that was two before.");
        self.at_p_o.next = self
            .none
            .val()
            .replace_bit(0, self.at.val().get_bit(1))
            .replace_bit(1, self.at.val().get_bit(2))
            .replace_bit(2, self.at.val().get_bit(0));
        self.at_u_o.next = self
            .none
            .val()
            .replace_bit(0, self.at.val().get_bit(2))
            .replace_bit(1, self.at.val().get_bit(0))
            .replace_bit(2, self.at.val().get_bit(1));
        self.turn.d_i.next = self.turn.q_o.val() ^ self.at.val().get_bit(2);
        self.running.d_i.next = self.running.q_o.val() | self.at.val().get_bit(2);
        for h in 0..self._holds {
            if !self.run_i[h].val() {
                self.slice.d_i.next = self.slice.q_o.val();
                self.turn.d_i.next = self.turn.q_o.val();
                self.running.d_i.next = self.running.q_o.val();
            }
        }
        self.turn_o.next = self.turn.q_o.val();
        self.init_o.next = !self.running.q_o.val();
    }
}
