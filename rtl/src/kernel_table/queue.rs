//! A queue of slot numbers that shows what comes in at once when it is empty.

use crate::info::{Info, PortDoc};
use crate::parts::{Register, RegisterFile, number};
use rust_hdl::prelude::*;

const PORTS: &[PortDoc] = &[
    ("push_i", "", "a slot comes in; there is always room for it"),
    ("slot_i", "", "its number"),
    ("valid_o", "next", "the queue's first"),
    ("ready_i", "next", "it is taken"),
    ("slot_o", "next", "its number, or 0"),
];

/// Room for `N` slots, each of which is in it at most once.
#[derive(LogicBlock)]
pub struct SlotQueue<const N: usize, const LN: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// A slot comes in.
    pub push_i: Signal<In, Bit>,
    /// Its number.
    pub slot_i: Signal<In, Bits<LN>>,
    /// There is a first.
    pub valid_o: Signal<Out, Bit>,
    /// It is taken.
    pub ready_i: Signal<In, Bit>,
    /// Its number.
    pub slot_o: Signal<Out, Bits<LN>>,
    words: RegisterFile<LN, LN>,
    head: Register<Bits<LN>>,
    tail: Register<Bits<LN>>,
    count: Register<Bits<8>>,
    empty: Signal<Local, Bit>,
    store: Signal<Local, Bit>,
    remove: Signal<Local, Bit>,
    slot: Signal<Local, Bits<LN>>,
    zero: Constant<Bits<LN>>,
    one: Constant<Bits<LN>>,
    last: Constant<Bits<LN>>,
    one_more: Constant<Bits<8>>,
}

impl<const N: usize, const LN: usize> Default for SlotQueue<N, LN> {
    fn default() -> Self {
        Self {
            info: Info::module("slot_queue", "", PORTS).param("SLOTS", "n", N),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            push_i: Signal::default(),
            slot_i: Signal::default(),
            valid_o: Signal::default(),
            ready_i: Signal::default(),
            slot_o: Signal::default(),
            words: RegisterFile::new(N),
            head: Register::default(),
            tail: Register::default(),
            count: Register::default(),
            empty: Signal::default(),
            store: Signal::default(),
            remove: Signal::default(),
            slot: Signal::default(),
            zero: number(0),
            one: number(1),
            last: number(N as u128 - 1),
            one_more: number(1),
        }
    }
}

impl<const N: usize, const LN: usize> Logic for SlotQueue<N, LN> {
    #[hdl_gen]
    fn update(&mut self) {
        self.words.clk_i.next = self.clk_i.val();
        self.head.clk_i.next = self.clk_i.val();
        self.head.rst_ni.next = self.rst_ni.val();
        self.tail.clk_i.next = self.clk_i.val();
        self.tail.rst_ni.next = self.rst_ni.val();
        self.count.clk_i.next = self.clk_i.val();
        self.count.rst_ni.next = self.rst_ni.val();

        self.empty.next = !self.count.q_o.val().any();
        self.store.next = self.push_i.val() & (!(self.empty.val() & self.ready_i.val()));
        self.remove.next = self.ready_i.val() & (!self.empty.val());
        self.valid_o.next = self.push_i.val() | (!self.empty.val());
        self.slot.next = self.zero.val();
        if self.empty.val() {
            if self.push_i.val() {
                self.slot.next = self.slot_i.val();
            }
        } else {
            self.slot.next = self.words.rdata_o.val();
        }
        self.slot_o.next = self.slot.val();

        self.words.we_i.next = self.store.val();
        self.words.waddr_i.next = self.tail.q_o.val();
        self.words.wdata_i.next = self.slot_i.val();
        self.words.raddr_i.next = self.head.q_o.val();
        self.head.d_i.next = self.head.q_o.val();
        self.tail.d_i.next = self.tail.q_o.val();
        self.count.d_i.next = self.count.q_o.val();
        if self.remove.val() {
            if self.head.q_o.val() == self.last.val() {
                self.head.d_i.next = self.zero.val();
            } else {
                self.head.d_i.next = self.head.q_o.val() + self.one.val();
            }
            if !self.store.val() {
                self.count.d_i.next = self.count.q_o.val() - self.one_more.val();
            }
        }
        if self.store.val() {
            if self.tail.q_o.val() == self.last.val() {
                self.tail.d_i.next = self.zero.val();
            } else {
                self.tail.d_i.next = self.tail.q_o.val() + self.one.val();
            }
            if !self.remove.val() {
                self.count.d_i.next = self.count.q_o.val() + self.one_more.val();
            }
        }
    }
}
