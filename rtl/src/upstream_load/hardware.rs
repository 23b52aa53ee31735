//! The hardware of `upstream_load`, one block per encoding.

use crate::info::Info;
use crate::params::{ID_BITS, UpstreamParams};
use crate::parts::{CloseUp, Register, bank, number};
use documented::DocumentedFieldsOpt;
use rust_hdl::prelude::*;

const CHANNELS: &[&str] = &["host", "ins"];

fn info(kind: &str, params: UpstreamParams) -> Info {
    Info::module(kind, "ACE (Durvasula et al., PACT 2024), section 4.3")
        .param("SLOTS", "n", params.slots())
        .param("SCHEDULED", "m", params.scheduled())
}

/// The `ids` form: see the module's page.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct UpstreamLoadIds<const N: usize> {
    info: Info,
    /// Clock.
    pub clk_i: Signal<In, Clock>,
    /// Reset.
    pub rst_ni: Signal<In, Bit>,
    /// A beat is offered.
    pub host_valid_i: Signal<In, Bit>,
    /// It is taken at the end of this cycle.
    pub host_ready_o: Signal<Out, Bit>,
    /// The kernel's id, one more than that of the kernel before.
    pub host_id_i: Signal<In, Bits<ID_BITS>>,
    /// The kernel's last beat.
    pub host_last_i: Signal<In, Bit>,
    /// The lane holds an upstream id.
    pub host_up_valid_i: Vec<Signal<In, Bit>>,
    /// An upstream id.
    pub host_up_id_i: Vec<Signal<In, Bits<ID_BITS>>>,
    /// A kernel is to be inserted.
    pub ins_valid_o: Signal<Out, Bit>,
    /// The window takes it.
    pub ins_ready_i: Signal<In, Bit>,
    /// Its id.
    pub ins_id_o: Signal<Out, Bits<ID_BITS>>,
    /// Places of the live kernels it waits for; a bit falls where its kernel retires meanwhile.
    pub ins_up_o: Signal<Out, Bits<N>>,
    /// Places of the window whose kernels have not retired, nor retire in this cycle.
    pub place_live_i: Signal<In, Bits<N>>,
    /// Id of the kernel in the place.
    pub place_id_i: Vec<Signal<In, Bits<ID_BITS>>>,
    /// Places whose kernel comes from the place above at the end of this cycle.
    pub place_shift_i: Signal<In, Bits<N>>,
    /// A kernel has a place.
    pub oldest_valid_i: Signal<In, Bit>,
    /// Id of the oldest kernel that has a place.
    pub oldest_id_i: Signal<In, Bits<ID_BITS>>,
    /// The beat waits: M newer kernels than the oldest that has a place were sent.
    pub stall_limit_o: Signal<Out, Bit>,
    /// Places named by the kernel's earlier beats.
    gathered: Register<Bits<N>>,
    /// Moves `gather` down where a place is closed.
    moved: CloseUp<N>,
    /// Places that the kernel's beats so far name, this one included.
    named: Signal<Local, Bits<N>>,
    /// Of these, those whose kernels are live.
    wanted: Signal<Local, Bits<N>>,
    /// `gathered` at the end of this cycle, before a place is closed.
    gather: Signal<Local, Bits<N>>,
    /// Kernels that were sent after the oldest one and before this one.
    newer: Signal<Local, Bits<ID_BITS>>,
    /// The beat waits: M newer kernels than the oldest one were sent.
    blocked: Signal<Local, Bit>,
    /// `host_ready_o`, to be read here.
    ready: Signal<Local, Bit>,
    zero: Constant<Bits<N>>,
    one: Constant<Bits<ID_BITS>>,
    /// M.
    limit: Constant<Bits<ID_BITS>>,
    _lanes: usize,
}

impl<const N: usize> UpstreamLoadIds<N> {
    /// The `ids` form with `lanes` ids per beat; `params` must say `N` slots.
    pub fn new(params: UpstreamParams, lanes: usize) -> Self {
        debug_assert_eq!(params.slots(), N);
        Self {
            info: info("upstream_load_ids", params).fields::<Self>(CHANNELS).param("LANES", "k", lanes),
            clk_i: Signal::default(),
            rst_ni: Signal::default(),
            host_valid_i: Signal::default(),
            host_ready_o: Signal::default(),
            host_id_i: Signal::default(),
            host_last_i: Signal::default(),
            host_up_valid_i: bank(lanes),
            host_up_id_i: bank(lanes),
            ins_valid_o: Signal::default(),
            ins_ready_i: Signal::default(),
            ins_id_o: Signal::default(),
            ins_up_o: Signal::default(),
            place_live_i: Signal::default(),
            place_id_i: bank(N),
            place_shift_i: Signal::default(),
            oldest_valid_i: Signal::default(),
            oldest_id_i: Signal::default(),
            stall_limit_o: Signal::default(),
            gathered: Register::default(),
            moved: CloseUp::default(),
            named: Signal::default(),
            wanted: Signal::default(),
            gather: Signal::default(),
            newer: Signal::default(),
            blocked: Signal::default(),
            ready: Signal::default(),
            zero: number(0),
            one: number(1),
            limit: number(params.scheduled() as u128),
            _lanes: lanes,
        }
    }
}

impl<const N: usize> Logic for UpstreamLoadIds<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.gathered.clk_i.next = self.clk_i.val();
        self.gathered.rst_ni.next = self.rst_ni.val();

        comment!("M kernels newer than the oldest that has a place: the host's list no longer has it.");
        self.newer.next = (self.host_id_i.val() - self.oldest_id_i.val()) - self.one.val();
        self.blocked.next = self.oldest_valid_i.val() & (self.newer.val() >= self.limit.val());
        self.stall_limit_o.next = self.host_valid_i.val() & self.blocked.val();
        self.ins_id_o.next = self.host_id_i.val();

        comment!("Which places hold a named id; one that is not live does not");
        comment!("count, nor one whose kernel retires now.");
        self.named.next = self.gathered.q_o.val();
        for p in 0..N {
            for k in 0..self._lanes {
                if self.host_up_valid_i[k].val() & (self.host_up_id_i[k].val() == self.place_id_i[p].val()) {
                    self.named.next = self.named.val().replace_bit(p, true);
                }
            }
        }
        self.wanted.next = self.named.val() & self.place_live_i.val();
        self.ins_up_o.next = self.wanted.val();
        self.ins_valid_o.next = self.host_valid_i.val() & self.host_last_i.val() & (!self.blocked.val());
        self.ready.next = (!self.blocked.val()) & (self.ins_ready_i.val() | (!self.host_last_i.val()));
        self.host_ready_o.next = self.ready.val();

        comment!("Kept for the kernel's next beat; its last one empties it. A");
        comment!("kernel's bit falls when it retires.");
        self.gather.next = self.gathered.q_o.val() & self.place_live_i.val();
        if self.host_valid_i.val() & self.ready.val() {
            if self.host_last_i.val() {
                self.gather.next = self.zero.val();
            } else {
                self.gather.next = self.wanted.val();
            }
        }
        comment!("A kernel's bit moves with it.");
        self.moved.shift_i.next = self.place_shift_i.val();
        self.moved.places_i.next = self.gather.val();
        self.gathered.d_i.next = self.moved.places_o.val();
    }
}

crate::flat_ports!(impl [const N: usize] for UpstreamLoadIds<N>:
    clk_i rst_ni host_valid_i host_ready_o host_id_i host_last_i host_up_valid_i host_up_id_i ins_valid_o ins_ready_i
    ins_id_o ins_up_o place_live_i place_id_i place_shift_i oldest_valid_i oldest_id_i stall_limit_o);

/// The `mask` form: see the module's page.
#[derive(LogicBlock, DocumentedFieldsOpt)]
pub struct UpstreamLoadMask<const N: usize, const M: usize> {
    info: Info,
    /// A beat is offered.
    pub host_valid_i: Signal<In, Bit>,
    /// It is taken at the end of this cycle.
    pub host_ready_o: Signal<Out, Bit>,
    /// The kernel's id, one more than that of the kernel before.
    pub host_id_i: Signal<In, Bits<ID_BITS>>,
    /// Bit j: waits for the kernel sent j + 1 before. Each kernel is one beat.
    pub host_up_i: Signal<In, Bits<M>>,
    /// A kernel is to be inserted.
    pub ins_valid_o: Signal<Out, Bit>,
    /// The window takes it.
    pub ins_ready_i: Signal<In, Bit>,
    /// Its id.
    pub ins_id_o: Signal<Out, Bits<ID_BITS>>,
    /// Places of the live kernels it waits for; a bit falls where its kernel retires meanwhile.
    pub ins_up_o: Signal<Out, Bits<N>>,
    /// Places of the window whose kernels have not retired, nor retire in this cycle.
    pub place_live_i: Signal<In, Bits<N>>,
    /// Id of the kernel in the place.
    pub place_id_i: Vec<Signal<In, Bits<ID_BITS>>>,
    /// A kernel has a place.
    pub oldest_valid_i: Signal<In, Bit>,
    /// Id of the oldest kernel that has a place.
    pub oldest_id_i: Signal<In, Bits<ID_BITS>>,
    /// The beat waits: M newer kernels than the oldest that has a place were sent.
    pub stall_limit_o: Signal<Out, Bit>,
    /// The mask, so wide that any distance of two ids is an index.
    wide: Signal<Local, Bits<256>>,
    /// Of each place, how many kernels were sent after its kernel and before this one.
    distance: Vec<Signal<Local, Bits<ID_BITS>>>,
    /// Places that the mask names, retired kernels' included.
    named: Signal<Local, Bits<N>>,
    /// Kernels that were sent after the oldest one and before this one.
    newer: Signal<Local, Bits<ID_BITS>>,
    /// The beat waits: M newer kernels than the oldest one were sent.
    blocked: Signal<Local, Bit>,
    zero: Constant<Bits<N>>,
    one: Constant<Bits<ID_BITS>>,
    /// M.
    limit: Constant<Bits<ID_BITS>>,
}

impl<const N: usize, const M: usize> UpstreamLoadMask<N, M> {
    /// The `mask` form; `params` must say `N` slots and a list of `M`.
    pub fn new(params: UpstreamParams) -> Self {
        debug_assert_eq!((params.slots(), params.scheduled()), (N, M));
        Self {
            info: info("upstream_load_mask", params).fields::<Self>(CHANNELS),
            host_valid_i: Signal::default(),
            host_ready_o: Signal::default(),
            host_id_i: Signal::default(),
            host_up_i: Signal::default(),
            ins_valid_o: Signal::default(),
            ins_ready_i: Signal::default(),
            ins_id_o: Signal::default(),
            ins_up_o: Signal::default(),
            place_live_i: Signal::default(),
            place_id_i: bank(N),
            oldest_valid_i: Signal::default(),
            oldest_id_i: Signal::default(),
            stall_limit_o: Signal::default(),
            wide: Signal::default(),
            distance: bank(N),
            named: Signal::default(),
            newer: Signal::default(),
            blocked: Signal::default(),
            zero: number(0),
            one: number(1),
            limit: number(params.scheduled() as u128),
        }
    }
}

impl<const N: usize, const M: usize> Logic for UpstreamLoadMask<N, M> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("M kernels newer than the oldest that has a place: the host's list no longer has it.");
        self.newer.next = (self.host_id_i.val() - self.oldest_id_i.val()) - self.one.val();
        self.blocked.next = self.oldest_valid_i.val() & (self.newer.val() >= self.limit.val());
        self.stall_limit_o.next = self.host_valid_i.val() & self.blocked.val();
        self.ins_id_o.next = self.host_id_i.val();

        comment!("The kernel in place p was sent distance + 1 before this one.");
        self.wide.next = bit_cast::<256, M>(self.host_up_i.val());
        self.named.next = self.zero.val();
        for p in 0..N {
            self.distance[p].next = (self.host_id_i.val() - self.place_id_i[p].val()) - self.one.val();
            self.named.next =
                self.named.val().replace_bit(p, self.wide.val().get_bit(self.distance[p].val().index()));
        }
        self.ins_up_o.next = self.named.val() & self.place_live_i.val();
        self.ins_valid_o.next = self.host_valid_i.val() & (!self.blocked.val());
        self.host_ready_o.next = self.ins_ready_i.val() & (!self.blocked.val());
    }
}

crate::flat_ports!(impl [const N: usize, const M: usize] for UpstreamLoadMask<N, M>:
    - host_valid_i host_ready_o host_id_i host_up_i ins_valid_o ins_ready_i ins_id_o ins_up_o place_live_i place_id_i
    oldest_valid_i oldest_id_i stall_limit_o);
