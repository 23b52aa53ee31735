//! The small blocks.
#![allow(missing_docs)]

use rust_hdl::prelude::*;
use windlass_rtl::flat_ports;
use windlass_rtl::info::Info;
use windlass_rtl::model::{CycleError, CycleModel};
use windlass_rtl::parts::{PayloadRegister, Register, RegisterFile, bank, number, numbers};
use windlass_rtl::port::{Direction as PortDirection, Layout, Port};

/// A block whose fields all have a default but for its name.
macro_rules! named {
    ([$($generics:tt)*] $block:ty, $name:literal $(, $tag:literal $value:expr)*; $($field:ident)*) => {
        impl<$($generics)*> Default for $block {
            fn default() -> Self {
                Self {
                    info: Info::module($name, "")$(.param($tag, $tag, $value))*,
                    $($field: Default::default(),)*
                }
            }
        }
    };
}

/// Every operator that rust-hdl has on unsigned values.
#[derive(LogicBlock)]
pub struct Operators<const W: usize> {
    info: Info,
    pub a_i: Signal<In, Bits<W>>,
    pub b_i: Signal<In, Bits<W>>,
    pub s_i: Signal<In, Bits<7>>,
    pub t_i: Signal<In, Bit>,
    pub u_i: Signal<In, Bit>,
    pub add_o: Signal<Out, Bits<W>>,
    pub sub_o: Signal<Out, Bits<W>>,
    pub and_o: Signal<Out, Bits<W>>,
    pub or_o: Signal<Out, Bits<W>>,
    pub xor_o: Signal<Out, Bits<W>>,
    pub not_o: Signal<Out, Bits<W>>,
    pub shl_o: Signal<Out, Bits<W>>,
    pub shr_o: Signal<Out, Bits<W>>,
    pub shl1_o: Signal<Out, Bits<W>>,
    pub shr1_o: Signal<Out, Bits<W>>,
    pub plus1_o: Signal<Out, Bits<W>>,
    pub carry_o: Signal<Out, Bits<W>>,
    pub eq_o: Signal<Out, Bit>,
    pub ne_o: Signal<Out, Bit>,
    pub lt_o: Signal<Out, Bit>,
    pub le_o: Signal<Out, Bit>,
    pub gt_o: Signal<Out, Bit>,
    pub ge_o: Signal<Out, Bit>,
    pub lt2_o: Signal<Out, Bit>,
    pub all_o: Signal<Out, Bit>,
    pub any_o: Signal<Out, Bit>,
    pub parity_o: Signal<Out, Bit>,
    pub both_o: Signal<Out, Bit>,
    pub either_o: Signal<Out, Bit>,
    pub bit_o: Signal<Out, Bit>,
}
named! { [const W: usize] Operators<W>, "operators", "w" W;
a_i b_i s_i t_i u_i add_o sub_o and_o or_o xor_o not_o shl_o shr_o shl1_o shr1_o plus1_o carry_o eq_o ne_o lt_o le_o
gt_o ge_o lt2_o all_o any_o parity_o both_o either_o bit_o }
flat_ports! { impl [const W: usize] for Operators<W>: -
a_i b_i s_i t_i u_i add_o sub_o and_o or_o xor_o not_o shl_o shr_o shl1_o shr1_o plus1_o carry_o eq_o ne_o lt_o le_o
gt_o ge_o lt2_o all_o any_o parity_o both_o either_o bit_o }

impl<const W: usize> Logic for Operators<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.add_o.next = self.a_i.val() + self.b_i.val();
        self.sub_o.next = self.a_i.val() - self.b_i.val();
        self.and_o.next = self.a_i.val() & self.b_i.val();
        self.or_o.next = self.a_i.val() | self.b_i.val();
        self.xor_o.next = self.a_i.val() ^ self.b_i.val();
        self.not_o.next = !self.a_i.val();
        self.shl_o.next = self.a_i.val() << self.s_i.val();
        self.shr_o.next = self.a_i.val() >> self.s_i.val();
        self.shl1_o.next = self.a_i.val() << 1;
        self.shr1_o.next = self.a_i.val() >> 1;
        self.plus1_o.next = self.a_i.val() + 1;
        self.carry_o.next = self.a_i.val() + self.t_i.val();
        self.eq_o.next = self.a_i.val() == self.b_i.val();
        self.ne_o.next = self.a_i.val() != self.b_i.val();
        self.lt_o.next = self.a_i.val() < self.b_i.val();
        self.le_o.next = self.a_i.val() <= self.b_i.val();
        self.gt_o.next = self.a_i.val() > self.b_i.val();
        self.ge_o.next = self.a_i.val() >= self.b_i.val();
        self.lt2_o.next = self.a_i.val() < 2;
        self.all_o.next = self.a_i.val().all();
        self.any_o.next = self.a_i.val().any();
        self.parity_o.next = self.a_i.val().xor();
        self.both_o.next = self.t_i.val() && self.u_i.val();
        self.either_o.next = self.t_i.val() || self.u_i.val();
        self.bit_o.next = (self.t_i.val() ^ self.u_i.val()) | (self.t_i.val() & !self.u_i.val());
    }
}

/// Where a lost parenthesis, or one bit more in the middle, changes the result.
#[derive(LogicBlock)]
pub struct Precedence<const W: usize> {
    info: Info,
    pub a_i: Signal<In, Bits<W>>,
    pub b_i: Signal<In, Bits<W>>,
    pub c_i: Signal<In, Bits<W>>,
    pub s_i: Signal<In, Bits<3>>,
    pub masked_o: Signal<Out, Bit>,
    pub and_or_o: Signal<Out, Bits<W>>,
    pub or_and_o: Signal<Out, Bits<W>>,
    pub left_o: Signal<Out, Bits<W>>,
    pub right_o: Signal<Out, Bits<W>>,
    pub wraps_o: Signal<Out, Bit>,
    pub average_o: Signal<Out, Bits<W>>,
    pub round_o: Signal<Out, Bits<W>>,
    pub not_sum_o: Signal<Out, Bits<W>>,
    pub negative_o: Signal<Out, Bits<W>>,
    pub any_and_o: Signal<Out, Bit>,
    pub not_any_o: Signal<Out, Bit>,
    pub mixed_o: Signal<Out, Bit>,
    pub borrow_o: Signal<Out, Bit>,
}
named! { [const W: usize] Precedence<W>, "precedence", "w" W;
a_i b_i c_i s_i masked_o and_or_o or_and_o left_o right_o wraps_o average_o round_o not_sum_o negative_o any_and_o not_any_o
mixed_o borrow_o }
flat_ports! { impl [const W: usize] for Precedence<W>: -
a_i b_i c_i s_i masked_o and_or_o or_and_o left_o right_o wraps_o average_o round_o not_sum_o negative_o any_and_o not_any_o
mixed_o borrow_o }

impl<const W: usize> Logic for Precedence<W> {
    #[hdl_gen]
    fn update(&mut self) {
        // In Verilog `a & b == c` is `a & (b == c)`; in Rust it is not.
        self.masked_o.next = self.a_i.val() & self.b_i.val() == self.c_i.val();
        self.and_or_o.next = self.a_i.val() & (self.b_i.val() | self.c_i.val());
        self.or_and_o.next = (self.a_i.val() | self.b_i.val()) & self.c_i.val();
        self.left_o.next = (self.a_i.val() - self.b_i.val()) - self.c_i.val();
        self.right_o.next = self.a_i.val() - (self.b_i.val() - self.c_i.val());
        // A carry must be lost where rust-hdl loses it, also in the middle of an expression.
        self.wraps_o.next = (self.a_i.val() + self.b_i.val()) < self.a_i.val();
        self.average_o.next = (self.a_i.val() + self.b_i.val()) >> 1;
        self.round_o.next = (self.a_i.val() << self.s_i.val()) >> self.s_i.val();
        self.not_sum_o.next = !(self.a_i.val() + self.b_i.val());
        self.negative_o.next = (!self.a_i.val()) + 1;
        self.any_and_o.next = (self.a_i.val() & self.b_i.val()).any() & self.c_i.val().all();
        self.not_any_o.next = !(self.a_i.val() ^ self.b_i.val()).any();
        self.mixed_o.next = (self.a_i.val() < self.b_i.val()) ^ (self.b_i.val() <= self.c_i.val());
        self.borrow_o.next = (self.a_i.val() - self.b_i.val()) > (self.b_i.val() - self.a_i.val());
    }
}

/// Taking and setting bits, by constants and by signals; `I` bits count up to `W - 1` at least.
#[derive(LogicBlock)]
pub struct Bits_<const W: usize, const I: usize> {
    info: Info,
    pub a_i: Signal<In, Bits<W>>,
    pub b_i: Signal<In, Bits<W>>,
    pub i_i: Signal<In, Bits<I>>,
    pub v_i: Signal<In, Bit>,
    pub low_o: Signal<Out, Bit>,
    pub at_o: Signal<Out, Bit>,
    pub sum_at_o: Signal<Out, Bit>,
    pub two_o: Signal<Out, Bits<2>>,
    pub past_o: Signal<Out, Bits<4>>,
    pub two_at_o: Signal<Out, Bits<2>>,
    pub sum_two_o: Signal<Out, Bits<2>>,
    pub set0_o: Signal<Out, Bits<W>>,
    pub set_at_o: Signal<Out, Bits<W>>,
    pub reverse_o: Signal<Out, Bits<W>>,
    safe: Signal<Local, Bits<I>>,
    reverse: Signal<Local, Bits<W>>,
    last: Constant<Bits<I>>,
    zero: Constant<Bits<W>>,
}
impl<const W: usize, const I: usize> Default for Bits_<W, I> {
    fn default() -> Self {
        Self {
            info: Info::module("bits", "").param("W", "w", W),
            a_i: Default::default(),
            b_i: Default::default(),
            i_i: Default::default(),
            v_i: Default::default(),
            low_o: Default::default(),
            at_o: Default::default(),
            sum_at_o: Default::default(),
            two_o: Default::default(),
            past_o: Default::default(),
            two_at_o: Default::default(),
            sum_two_o: Default::default(),
            set0_o: Default::default(),
            set_at_o: Default::default(),
            reverse_o: Default::default(),
            safe: Default::default(),
            reverse: Default::default(),
            last: number(W as u128 - 1),
            zero: number(0),
        }
    }
}
flat_ports! { impl [const W: usize, const I: usize] for Bits_<W, I>: -
a_i b_i i_i v_i low_o at_o sum_at_o two_o past_o two_at_o sum_two_o set0_o set_at_o reverse_o }

impl<const W: usize, const I: usize> Logic for Bits_<W, I> {
    #[hdl_gen]
    fn update(&mut self) {
        // An index outside the width stops rust-hdl and is unknown in Verilog: neither is wanted here.
        self.safe.next = self.i_i.val();
        if self.i_i.val() > self.last.val() {
            self.safe.next = self.last.val();
        }
        self.low_o.next = self.a_i.val().get_bit(0);
        self.at_o.next = self.a_i.val().get_bit(self.safe.val().index());
        self.sum_at_o.next = (self.a_i.val() + self.b_i.val()).get_bit(self.safe.val().index());
        self.two_o.next = self.a_i.val().get_bits::<2>(0);
        self.past_o.next = self.a_i.val().get_bits::<4>(1);
        self.two_at_o.next = self.a_i.val().get_bits::<2>(self.safe.val().index());
        self.sum_two_o.next = (self.a_i.val() ^ self.b_i.val()).get_bits::<2>(0);
        self.set0_o.next = self.a_i.val().replace_bit(0, self.v_i.val());
        self.set_at_o.next = self.a_i.val().replace_bit(self.safe.val().index(), self.v_i.val());
        self.reverse.next = self.zero.val();
        for i in 0..W {
            self.reverse.next = self.reverse.val().replace_bit(i, self.a_i.val().get_bit(i) ^ self.v_i.val());
        }
        self.reverse_o.next = self.reverse.val();
    }
}

/// Widening and cutting, of names and of expressions.
#[derive(LogicBlock)]
pub struct Casts<const A: usize, const B: usize> {
    info: Info,
    pub a_i: Signal<In, Bits<A>>,
    pub c_i: Signal<In, Bits<A>>,
    pub plain_o: Signal<Out, Bits<B>>,
    pub sum_o: Signal<Out, Bits<B>>,
    pub sum_of_o: Signal<Out, Bits<B>>,
    pub less_o: Signal<Out, Bit>,
}
impl<const A: usize, const B: usize> Default for Casts<A, B> {
    fn default() -> Self {
        Self {
            info: Info::module("casts", "").param("A", "a", A).param("B", "b", B),
            a_i: Default::default(),
            c_i: Default::default(),
            plain_o: Default::default(),
            sum_o: Default::default(),
            sum_of_o: Default::default(),
            less_o: Default::default(),
        }
    }
}
flat_ports! { impl [const A: usize, const B: usize] for Casts<A, B>: - a_i c_i plain_o sum_o sum_of_o less_o }

impl<const A: usize, const B: usize> Logic for Casts<A, B> {
    #[hdl_gen]
    fn update(&mut self) {
        self.plain_o.next = bit_cast::<B, A>(self.a_i.val());
        self.sum_o.next = bit_cast::<B, A>(self.a_i.val() + self.c_i.val());
        self.sum_of_o.next = bit_cast::<B, A>(self.a_i.val()) + bit_cast::<B, A>(self.c_i.val());
        self.less_o.next = bit_cast::<B, A>(self.a_i.val()) < bit_cast::<B, A>(self.c_i.val());
    }
}

/// Signals that are assigned again and again, read in between, under nested conditions.
#[derive(LogicBlock)]
pub struct Order {
    info: Info,
    pub a_i: Signal<In, Bits<8>>,
    pub b_i: Signal<In, Bits<8>>,
    pub early_o: Signal<Out, Bits<8>>,
    pub late_o: Signal<Out, Bits<8>>,
    pub nested_o: Signal<Out, Bits<8>>,
    pub count_o: Signal<Out, Bits<8>>,
    sum: Signal<Local, Bits<8>>,
    count: Signal<Local, Bits<8>>,
}
named! { [] Order, "order"; a_i b_i early_o late_o nested_o count_o sum count }
flat_ports! { impl [] for Order: - a_i b_i early_o late_o nested_o count_o }

impl Logic for Order {
    #[hdl_gen]
    fn update(&mut self) {
        self.sum.next = self.a_i.val();
        self.early_o.next = self.sum.val();
        self.sum.next = self.sum.val() + self.b_i.val();
        if self.sum.val().get_bit(7) {
            self.sum.next = self.sum.val() ^ 0x55;
        }
        self.late_o.next = self.sum.val();
        if self.a_i.val() == 3 {
            self.nested_o.next = 1.into();
        } else if self.a_i.val() < self.b_i.val() {
            if self.b_i.val().get_bit(0) {
                self.nested_o.next = self.a_i.val();
            } else {
                self.nested_o.next = self.sum.val();
            }
        } else {
            self.nested_o.next = self.b_i.val();
        }
        self.count.next = 0.into();
        for i in 0..8 {
            if self.a_i.val().get_bit(i) {
                self.count.next = self.count.val() + 1;
            }
        }
        self.count_o.next = self.count.val();
    }
}

/// Bits of what has no name, under a condition: the name that they get must not become a latch.
#[derive(LogicBlock)]
pub struct PartsOfSums {
    info: Info,
    pub a_i: Signal<In, Bits<8>>,
    pub b_i: Signal<In, Bits<8>>,
    pub t_i: Signal<In, Bit>,
    pub cut_o: Signal<Out, Bits<4>>,
    pub bit_o: Signal<Out, Bit>,
}
named! { [] PartsOfSums, "parts_of_sums"; a_i b_i t_i cut_o bit_o }
flat_ports! { impl [] for PartsOfSums: - a_i b_i t_i cut_o bit_o }

impl Logic for PartsOfSums {
    #[hdl_gen]
    fn update(&mut self) {
        self.cut_o.next = 0.into();
        self.bit_o.next = false;
        if self.t_i.val() {
            self.cut_o.next = bit_cast::<4, 8>(self.a_i.val() + self.b_i.val());
        } else if (self.a_i.val() - self.b_i.val()).get_bit(7) {
            self.bit_o.next = (self.a_i.val() ^ self.b_i.val()).get_bit(3);
        }
    }
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Step {
    Idle,
    Busy,
    Done,
}

/// `match` over an enumeration in a register.
#[derive(LogicBlock)]
pub struct Machine {
    info: Info,
    pub clk_i: Signal<In, Clock>,
    pub rst_ni: Signal<In, Bit>,
    pub go_i: Signal<In, Bit>,
    pub busy_o: Signal<Out, Bit>,
    pub done_o: Signal<Out, Bit>,
    step: Register<Step>,
}
named! { [] Machine, "machine"; clk_i rst_ni go_i busy_o done_o step }
flat_ports! { impl [] for Machine: clk_i rst_ni go_i busy_o done_o }

impl Logic for Machine {
    #[hdl_gen]
    fn update(&mut self) {
        self.step.clk_i.next = self.clk_i.val();
        self.step.rst_ni.next = self.rst_ni.val();
        self.step.d_i.next = self.step.q_o.val();
        self.busy_o.next = false;
        match self.step.q_o.val() {
            Step::Idle => {
                if self.go_i.val() {
                    self.step.d_i.next = Step::Busy;
                }
            }
            Step::Busy => {
                self.busy_o.next = true;
                self.step.d_i.next = Step::Done;
            }
            Step::Done => {
                self.step.d_i.next = Step::Idle;
            }
        }
        self.done_o.next = self.step.q_o.val() == Step::Done;
    }
}

/// One stage of [`Shifter`].
#[derive(LogicBlock)]
pub struct Stage {
    info: Info,
    pub clk_i: Signal<In, Clock>,
    pub rst_ni: Signal<In, Bit>,
    pub d_i: Signal<In, Bits<9>>,
    pub q_o: Signal<Out, Bits<9>>,
    value: Register<Bits<9>>,
}
named! { [] Stage, "stage"; clk_i rst_ni d_i q_o value }

impl Logic for Stage {
    #[hdl_gen]
    fn update(&mut self) {
        self.value.clk_i.next = self.clk_i.val();
        self.value.rst_ni.next = self.rst_ni.val();
        self.value.d_i.next = self.d_i.val() + 1;
        self.q_o.next = self.value.q_o.val();
    }
}

/// A bank of sub-blocks, one feeding the next; a bank of ports.
#[derive(LogicBlock)]
pub struct Shifter {
    info: Info,
    pub clk_i: Signal<In, Clock>,
    pub rst_ni: Signal<In, Bit>,
    pub d_i: Signal<In, Bits<9>>,
    pub tap_o: Vec<Signal<Out, Bits<9>>>,
    stages: Vec<Stage>,
}
impl Default for Shifter {
    fn default() -> Self {
        Self {
            info: Info::module("shifter", ""),
            clk_i: Default::default(),
            rst_ni: Default::default(),
            d_i: Default::default(),
            tap_o: bank(4),
            stages: bank(4),
        }
    }
}
flat_ports! { impl [] for Shifter: clk_i rst_ni d_i tap_o }

impl Logic for Shifter {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..4 {
            self.stages[i].clk_i.next = self.clk_i.val();
            self.stages[i].rst_ni.next = self.rst_ni.val();
            self.tap_o[i].next = self.stages[i].q_o.val();
        }
        self.stages[0].d_i.next = self.d_i.val();
        for i in 1..4 {
            self.stages[i].d_i.next = self.stages[i - 1].q_o.val();
        }
    }
}

/// Registers with and without reset, and a memory; what was never written is masked, as its rule is.
#[derive(LogicBlock)]
pub struct Storage {
    info: Info,
    pub clk_i: Signal<In, Clock>,
    pub rst_ni: Signal<In, Bit>,
    pub d_i: Signal<In, Bits<9>>,
    pub we_i: Signal<In, Bit>,
    pub waddr_i: Signal<In, Bits<3>>,
    pub raddr_i: Signal<In, Bits<3>>,
    pub reset_o: Signal<Out, Bits<9>>,
    pub payload_o: Signal<Out, Bits<9>>,
    pub word_o: Signal<Out, Bits<9>>,
    pub chosen_o: Signal<Out, Bits<9>>,
    with_reset: Register<Bits<9>>,
    written: Register<Bit>,
    payload: PayloadRegister<Bits<9>>,
    used: Register<Bits<8>>,
    memory: RegisterFile<9, 3>,
    chosen: Signal<Local, Bits<9>>,
    zero: Constant<Bits<9>>,
    one: Constant<Bits<8>>,
    table: Vec<Constant<Bits<9>>>,
}
impl Default for Storage {
    fn default() -> Self {
        Self {
            info: Info::module("storage", ""),
            clk_i: Default::default(),
            rst_ni: Default::default(),
            d_i: Default::default(),
            we_i: Default::default(),
            waddr_i: Default::default(),
            raddr_i: Default::default(),
            reset_o: Default::default(),
            payload_o: Default::default(),
            word_o: Default::default(),
            chosen_o: Default::default(),
            with_reset: Default::default(),
            written: Default::default(),
            payload: Default::default(),
            used: Default::default(),
            memory: RegisterFile::new(8),
            chosen: Default::default(),
            zero: number(0),
            one: number(1),
            table: numbers(8, |i| 37 * i as u128),
        }
    }
}
flat_ports! { impl [] for Storage: clk_i rst_ni d_i we_i waddr_i raddr_i reset_o payload_o word_o chosen_o }

impl Logic for Storage {
    #[hdl_gen]
    fn update(&mut self) {
        self.with_reset.clk_i.next = self.clk_i.val();
        self.with_reset.rst_ni.next = self.rst_ni.val();
        self.with_reset.d_i.next = self.d_i.val();
        self.reset_o.next = self.with_reset.q_o.val();

        self.written.clk_i.next = self.clk_i.val();
        self.written.rst_ni.next = self.rst_ni.val();
        self.written.d_i.next = true;
        self.payload.clk_i.next = self.clk_i.val();
        self.payload.d_i.next = self.d_i.val();
        if self.written.q_o.val() {
            self.payload_o.next = self.payload.q_o.val();
        } else {
            self.payload_o.next = self.zero.val();
        }

        self.used.clk_i.next = self.clk_i.val();
        self.used.rst_ni.next = self.rst_ni.val();
        self.memory.clk_i.next = self.clk_i.val();
        self.memory.we_i.next = self.we_i.val();
        self.memory.waddr_i.next = self.waddr_i.val();
        self.memory.wdata_i.next = self.d_i.val();
        self.memory.raddr_i.next = self.raddr_i.val();
        if self.we_i.val() {
            self.used.d_i.next = self.used.q_o.val() | (self.one.val() << self.waddr_i.val());
        } else {
            self.used.d_i.next = self.used.q_o.val();
        }
        if self.used.q_o.val().get_bit(self.raddr_i.val().index()) {
            self.word_o.next = self.memory.rdata_o.val();
        } else {
            self.word_o.next = self.zero.val();
        }

        self.chosen.next = self.zero.val();
        for i in 0..8 {
            if (self.one.val() << self.raddr_i.val()).get_bit(i) {
                self.chosen.next = self.table[i].val();
            }
        }
        self.chosen_o.next = self.chosen.val();
    }
}

/// The golden model of [`Storage`].
pub struct StorageModel {
    ports: Vec<Port>,
    inputs: Layout,
    outputs: Layout,
    with_reset: u128,
    payload: Option<u128>,
    memory: [Option<u128>; 8],
    /// Without reset, the payload register keeps what it was given; only the knowledge that it was is lost.
    written: bool,
}

impl StorageModel {
    pub fn new(ports: Vec<Port>) -> Self {
        let inputs = Layout::new(&ports, PortDirection::Input);
        let outputs = Layout::new(&ports, PortDirection::Output);
        Self { ports, inputs, outputs, with_reset: 0, payload: None, memory: [None; 8], written: false }
    }
}

impl CycleModel for StorageModel {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        let get = |name: &str| self.inputs.slot(name).expect("a port").get(inputs);
        let (rst_ni, d, we) = (get("rst_ni") != 0, get("d_i"), get("we_i") != 0);
        let (waddr, raddr) = (get("waddr_i") as usize, get("raddr_i") as usize);
        for (name, value) in [
            ("reset_o", self.with_reset),
            ("payload_o", self.payload.filter(|_| self.written).unwrap_or(0)),
            ("word_o", self.memory[raddr].unwrap_or(0)),
            ("chosen_o", 37 * raddr as u128),
        ] {
            self.outputs.slot(name).expect("a port").set(outputs, value);
        }
        self.with_reset = if rst_ni { d } else { 0 };
        self.payload = Some(d);
        self.written = rst_ni;
        if we {
            self.memory[waddr] = Some(d);
        }
        if !rst_ni {
            // What marks a word as written is reset.
            self.memory = [None; 8];
        }
        Ok(())
    }
}

// ---- what must be refused

#[derive(LogicBlock)]
pub struct Latch {
    info: Info,
    pub a_i: Signal<In, Bit>,
    pub b_i: Signal<In, Bit>,
    pub x_o: Signal<Out, Bit>,
}
named! { [] Latch, "latch"; a_i b_i x_o }
impl Logic for Latch {
    #[hdl_gen]
    fn update(&mut self) {
        if self.a_i.val() {
            self.x_o.next = self.b_i.val();
        }
    }
}

#[derive(LogicBlock)]
pub struct Reserved {
    info: Info,
    pub buf: Signal<In, Bit>,
    pub x_o: Signal<Out, Bit>,
    logic: Signal<Local, Bit>,
    tri: Vec<Signal<Local, Bit>>,
    var: Constant<Bit>,
}
impl Default for Reserved {
    fn default() -> Self {
        Self {
            info: Info::module("table", ""),
            buf: Signal::default(),
            x_o: Signal::default(),
            logic: Signal::default(),
            tri: bank(1),
            var: Constant::new(true),
        }
    }
}
impl Logic for Reserved {
    #[hdl_gen]
    fn update(&mut self) {
        self.logic.next = self.buf.val() & self.var.val();
        self.tri[0].next = !self.logic.val();
        self.x_o.next = self.tri[0].val();
    }
}

#[derive(LogicBlock)]
pub struct ReadsBeforeWrite {
    info: Info,
    pub a_i: Signal<In, Bit>,
    pub x_o: Signal<Out, Bit>,
    late: Signal<Local, Bit>,
}
named! { [] ReadsBeforeWrite, "reads_before_write"; a_i x_o late }
impl Logic for ReadsBeforeWrite {
    #[hdl_gen]
    fn update(&mut self) {
        self.x_o.next = self.late.val();
        self.late.next = self.a_i.val();
    }
}

#[derive(LogicBlock)]
pub struct ReadsBack {
    info: Info,
    pub clk_i: Signal<In, Clock>,
    pub rst_ni: Signal<In, Bit>,
    pub a_i: Signal<In, Bits<9>>,
    pub x_o: Signal<Out, Bits<9>>,
    stage: Stage,
}
named! { [] ReadsBack, "reads_back"; clk_i rst_ni a_i x_o stage }
impl Logic for ReadsBack {
    #[hdl_gen]
    fn update(&mut self) {
        self.stage.clk_i.next = self.clk_i.val();
        self.stage.rst_ni.next = self.rst_ni.val();
        self.stage.d_i.next = self.a_i.val();
        self.x_o.next = self.stage.d_i.val() ^ self.stage.q_o.val();
    }
}

#[derive(LogicBlock)]
pub struct HasSigned {
    info: Info,
    pub a_i: Signal<In, Signed<8>>,
    pub x_o: Signal<Out, Signed<8>>,
}
named! { [] HasSigned, "has_signed"; a_i x_o }
impl Logic for HasSigned {
    #[hdl_gen]
    fn update(&mut self) {
        self.x_o.next = self.a_i.val();
    }
}

#[derive(LogicBlock)]
pub struct WideIndex {
    info: Info,
    pub a_i: Signal<In, Bits<4>>,
    pub i_i: Signal<In, Bits<3>>,
    pub x_o: Signal<Out, Bit>,
}
named! { [] WideIndex, "wide_index"; a_i i_i x_o }
impl Logic for WideIndex {
    #[hdl_gen]
    fn update(&mut self) {
        self.x_o.next = self.a_i.val().get_bit(self.i_i.val().index());
    }
}

#[derive(LogicBlock)]
pub struct BigLiteral {
    info: Info,
    pub a_i: Signal<In, Bits<4>>,
    pub x_o: Signal<Out, Bit>,
}
named! { [] BigLiteral, "big_literal"; a_i x_o }
impl Logic for BigLiteral {
    #[hdl_gen]
    fn update(&mut self) {
        self.x_o.next = self.a_i.val() == 16;
    }
}

#[derive(LogicBlock, Default)]
pub struct Nameless {
    pub a_i: Signal<In, Bit>,
    pub x_o: Signal<Out, Bit>,
}
impl Logic for Nameless {
    #[hdl_gen]
    fn update(&mut self) {
        self.x_o.next = self.a_i.val();
    }
}
