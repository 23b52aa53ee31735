//! Round-robin picker.

use super::{Register, bank, number, numbers};
use crate::info::Info;
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

/// Up to `W` neighbours in a [`RoundRobin`].
///
/// It picks among its own requests, twice: the first of all, and the first after the one that was served last. Whether one of
/// them is granted is for `blocked_i` to say, the latest of all signals, so that it meets each grant in one gate.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct RoundRobinGroup<const W: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// Requests of the group.
    pub req_i: Signal<In, Bits<W>>,
    /// The request that was served last is one of them.
    pub here_i: Signal<In, Bit>,
    /// The grant is used.
    pub ack_i: Signal<In, Bit>,
    /// A request outside, or one after the last, goes before those of the group.
    pub blocked_i: Signal<In, Bit>,
    /// There is a request.
    pub any_o: Signal<Out, Bit>,
    /// There is one that others wait for: where the last was here, one after it.
    pub asks_o: Signal<Out, Bit>,
    /// The last was here and there is one after it: nobody goes before it.
    pub first_o: Signal<Out, Bit>,
    /// One-hot grant, or zero.
    pub gnt_o: Signal<Out, Bits<W>>,
    /// Requests at and below the one that the group picked last.
    ///
    /// Kept whether its pick was granted or not: it is looked at only where it was.
    served: Register<Bits<W>>,
    /// Requests above the one that the group picked last.
    after: Signal<Local, Bits<W>>,
    /// The first of all requests, where `front` has none: granted if no other goes first.
    own: Signal<Local, Bits<W>>,
    /// The first request after the one that was served last, where that one is here.
    front: Signal<Local, Bits<W>>,
    /// Bits with a request below them.
    earlier: Signal<Local, Bits<W>>,
    /// Bits with a request in `after` below them.
    earlier_after: Signal<Local, Bits<W>>,
    /// `any_o`, to be read here.
    any: Signal<Local, Bit>,
    /// `first_o`, to be read here.
    first: Signal<Local, Bit>,
    /// `gnt_o`, made in two steps.
    gnt: Signal<Local, Bits<W>>,
    zero: Constant<Bits<W>>,
    below: Vec<Constant<Bits<W>>>,
}

impl<const W: usize> Default for RoundRobinGroup<W> {
    fn default() -> Self {
        Self {
            info: Info::module("round_robin_group", "").fields::<Self>(&[]).param("REQUESTS", "n", W),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            req_i: Signal::default(),
            here_i: Signal::default(),
            ack_i: Signal::default(),
            blocked_i: Signal::default(),
            any_o: Signal::default(),
            asks_o: Signal::default(),
            first_o: Signal::default(),
            gnt_o: Signal::default(),
            served: Register::default(),
            after: Signal::default(),
            own: Signal::default(),
            front: Signal::default(),
            earlier: Signal::default(),
            earlier_after: Signal::default(),
            any: Signal::default(),
            first: Signal::default(),
            gnt: Signal::default(),
            zero: number(0),
            below: numbers(W, |i| (1 << i) - 1),
        }
    }
}

impl<const W: usize> Logic for RoundRobinGroup<W> {
    #[hdl_gen]
    fn update(&mut self) {
        self.served.clk_i.next = self.clk_i.val();
        self.served.rst_ni.next = self.rst_ni.val();
        comment!("The first of all requests, and the first after the one that was served last.");
        self.after.next = self.req_i.val() & (!self.served.q_o.val());
        self.earlier.next = self.zero.val();
        self.earlier_after.next = self.zero.val();
        for i in 0..W {
            self.earlier.next =
                self.earlier.val().replace_bit(i, (self.req_i.val() & self.below[i].val()).any());
            self.earlier_after.next =
                self.earlier_after.val().replace_bit(i, (self.after.val() & self.below[i].val()).any());
        }
        self.any.next = self.req_i.val().any();
        self.any_o.next = self.any.val();
        self.asks_o.next = self.after.val().any() | (self.any.val() & (!self.here_i.val()));
        self.first.next = self.here_i.val() & self.after.val().any();
        self.first_o.next = self.first.val();

        comment!("blocked_i comes last, and is looked at last.");
        self.own.next = self.zero.val();
        if !self.first.val() {
            self.own.next = self.req_i.val() & (!self.earlier.val());
        }
        self.front.next = self.zero.val();
        if self.here_i.val() {
            self.front.next = self.after.val() & (!self.earlier_after.val());
        }
        self.gnt.next = self.front.val();
        if !self.blocked_i.val() {
            self.gnt.next = self.front.val() | self.own.val();
        }
        self.gnt_o.next = self.gnt.val();

        comment!("The pick is kept, whether it was granted or another group's was.");
        self.served.d_i.next = self.served.q_o.val();
        if self.ack_i.val() & self.any.val() {
            if self.first.val() {
                self.served.d_i.next = !self.earlier_after.val();
            } else {
                self.served.d_i.next = !self.earlier.val();
            }
        }
    }
}

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
///
/// Two levels: `G` groups of `W` neighbours, `W * G >= N`, best about as many as each has. Each group picks among its own while the groups find out
/// which of them goes first. The one that holds the request served last comes twice in that order, with what is after
/// that request at first, and with the rest at last.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct RoundRobin<const N: usize, const W: usize, const G: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// Requests.
    pub req_i: Signal<In, Bits<N>>,
    /// The grant is used: the search moves on.
    pub ack_i: Signal<In, Bit>,
    /// One-hot grant, or zero.
    pub gnt_o: Signal<Out, Bits<N>>,
    /// Neighbours: each group picks among its own requests.
    group: Vec<RoundRobinGroup<W>>,
    /// The group that was served last, one-hot; bit 0 is kept inverted, so that reset is group 0.
    last: Register<Bits<G>>,
    /// The group with the request that was served last, one-hot.
    here: Signal<Local, Bits<G>>,
    /// Groups from that one on.
    from: Signal<Local, Bits<G>>,
    /// Groups with a request that others wait for.
    asks: Signal<Local, Bits<G>>,
    /// Of each group, the groups that go before it.
    ahead: Vec<Signal<Local, Bits<G>>>,
    /// Groups before which another one asks.
    blocked: Signal<Local, Bits<G>>,
    /// The group that the grant goes to, one-hot; where nobody asks, that of `here`.
    goes: Signal<Local, Bits<G>>,
    /// The grant of the group at hand.
    narrow: Signal<Local, Bits<W>>,
    /// Requests from those of the group at hand on.
    wide: Signal<Local, Bits<N>>,
    /// `narrow`, as wide as all requests.
    placed: Signal<Local, Bits<N>>,
    /// `gnt_o`, gathered over the groups.
    gnt: Signal<Local, Bits<N>>,
    none: Constant<Bits<N>>,
    zero: Constant<Bits<G>>,
    group_0: Constant<Bits<G>>,
    shift: Vec<Constant<Bits<8>>>,
    upto: Vec<Constant<Bits<G>>>,
    below: Vec<Constant<Bits<G>>>,
    above: Vec<Constant<Bits<G>>>,
}

impl<const N: usize, const W: usize, const G: usize> Default for RoundRobin<N, W, G> {
    fn default() -> Self {
        assert!(N <= W * G && N <= 255, "{G} groups of {W} are too few for {N} requests");
        let all = (1 << G) - 1;
        Self {
            info: Info::module("round_robin", "").fields::<Self>(&[]).param("REQUESTS", "n", N),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            req_i: Signal::default(),
            ack_i: Signal::default(),
            gnt_o: Signal::default(),
            group: bank(G),
            last: Register::default(),
            here: Signal::default(),
            from: Signal::default(),
            asks: Signal::default(),
            ahead: bank(G),
            blocked: Signal::default(),
            goes: Signal::default(),
            narrow: Signal::default(),
            wide: Signal::default(),
            placed: Signal::default(),
            gnt: Signal::default(),
            none: number(0),
            zero: number(0),
            group_0: number(1),
            shift: numbers(G, |g| (W * g) as u128),
            upto: numbers(G, |g| (2 << g) - 1),
            below: numbers(G, |g| (1 << g) - 1),
            above: numbers(G, |g| all & !((2 << g) - 1)),
        }
    }
}

impl<const N: usize, const W: usize, const G: usize> Logic for RoundRobin<N, W, G> {
    #[hdl_gen]
    fn update(&mut self) {
        self.last.clk_i.next = self.clk_i.val();
        self.last.rst_ni.next = self.rst_ni.val();
        self.here.next = self.last.q_o.val() ^ self.group_0.val();
        comment!("Each group looks at its own requests.");
        self.from.next = self.zero.val();
        self.asks.next = self.zero.val();
        for g in 0..G {
            self.group[g].clk_i.next = self.clk_i.val();
            self.group[g].rst_ni.next = self.rst_ni.val();
            self.group[g].ack_i.next = self.ack_i.val();
            self.wide.next = self.req_i.val() >> self.shift[g].val();
            self.group[g].req_i.next = bit_cast::<W, N>(self.wide.val());
            self.group[g].here_i.next = self.here.val().get_bit(g);
            self.from.next = self.from.val().replace_bit(g, (self.here.val() & self.upto[g].val()).any());
            self.asks.next = self.asks.val().replace_bit(g, self.group[g].asks_o.val());
        }
        comment!("Before a group come those between the last and it, and the last itself;");
        comment!("before what is left of the last's come all.");
        self.blocked.next = self.zero.val();
        self.goes.next = self.zero.val();
        self.gnt.next = self.none.val();
        for g in 0..G {
            self.ahead[g].next = self.from.val() & self.below[g].val();
            if !self.from.val().get_bit(g) {
                self.ahead[g].next =
                    self.ahead[g].val() | self.below[g].val() | (self.from.val() & self.above[g].val());
            }
            if self.here.val().get_bit(g) {
                self.ahead[g].next = self.ahead[g].val() | self.below[g].val() | self.above[g].val();
            }
            self.blocked.next =
                self.blocked.val().replace_bit(g, (self.asks.val() & self.ahead[g].val()).any());
            self.group[g].blocked_i.next = self.blocked.val().get_bit(g);
            comment!("Where nobody asks, the last stays the last.");
            self.goes.next = self.goes.val().replace_bit(
                g,
                self.group[g].first_o.val()
                    | ((self.group[g].any_o.val() | self.here.val().get_bit(g))
                        & (!self.blocked.val().get_bit(g))),
            );
            self.narrow.next = self.group[g].gnt_o.val();
            self.placed.next = bit_cast::<N, W>(self.narrow.val());
            self.gnt.next = self.gnt.val() | (self.placed.val() << self.shift[g].val());
        }
        self.gnt_o.next = self.gnt.val();
        self.last.d_i.next = self.last.q_o.val();
        if self.ack_i.val() {
            self.last.d_i.next = self.goes.val() ^ self.group_0.val();
        }
    }
}

crate::flat_ports!(impl [const N: usize, const W: usize, const G: usize] for RoundRobin<N, W, G>: clk_i rst_ni req_i ack_i gnt_o);
