//! Golden model of `kernel_table`: the kernels by slot, those that wait for an arbiter, what is offered for retirement.

use crate::front_end::io::{CtaNeeds, CtaType, Launch};
use crate::kernel_scheduler::io::MAX_RETIRE_PORTS;
use crate::model::{CycleError, CycleModel, ones};
use crate::params::{DONE_PORTS, TableParams};
use crate::port::{Direction, Layout, MissingPort, Port, Slot, find, find_all, indexed};
use crate::sm_occupancy::model::NeedPorts;
use crate::window::model::SlotSet;

/// Most queues that a table can have.
pub const MAX_QUEUES: usize = 2;

/// A kernel in a window slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Its slot.
    pub slot: u8,
    /// Its id.
    pub id: u8,
    /// Its grid, type, partition and needs.
    pub launch: Launch,
}

/// What stands on one completion channel, valid or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// A CTA has ended.
    pub valid: bool,
    /// Its kernel's slot.
    pub slot: u8,
}

/// Inputs of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableIn {
    /// Reset, active low.
    pub rst_ni: bool,
    /// A kernel comes into its slot.
    pub insert: Option<Kernel>,
    /// The window dispatches the kernel in this slot.
    pub dispatch: Option<u8>,
    /// The arbiter takes the queue's kernel.
    pub next_ready: [bool; MAX_QUEUES],
    /// CTAs that have ended.
    pub done: [Done; DONE_PORTS],
    /// The window takes the retirement.
    pub ret_ready: [bool; MAX_RETIRE_PORTS],
}

/// Outputs of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableOut {
    /// The kernel that each queue offers.
    pub next: [Option<Kernel>; MAX_QUEUES],
    /// What each ended CTA had.
    pub done: [CtaNeeds; DONE_PORTS],
    /// An arbiter has its kernel, or has had it, and not all of its CTAs have ended.
    pub done_runs: [bool; DONE_PORTS],
    /// A completion was ignored.
    pub done_error: bool,
    /// Slots whose kernels have ended.
    pub retire: [Option<u8>; MAX_RETIRE_PORTS],
}

/// The model: one step per clock.
#[derive(Clone, Debug)]
pub struct TableModel {
    params: TableParams,
    /// Not reset.
    entries: Vec<Kernel>,
    /// Slots in the order in which their kernels came.
    order: Vec<u8>,
    /// CTAs of each kernel that have not ended.
    left: Vec<u32>,
    running: SlotSet,
    /// Slots whose kernels no arbiter has taken.
    waiting: SlotSet,
    /// Slots that were offered to an arbiter and not taken.
    offered: [Option<u8>; MAX_QUEUES],
    /// Slots that were offered for retirement and not taken.
    held: [Option<u8>; MAX_RETIRE_PORTS],
}

impl TableModel {
    /// No kernel.
    pub fn new(params: TableParams) -> Self {
        let n = params.slots();
        Self {
            params,
            entries: (0..n).map(|slot| Kernel { slot: slot as u8, ..Kernel::default() }).collect(),
            order: Vec::new(),
            left: vec![0; n],
            running: 0,
            waiting: 0,
            offered: [None; MAX_QUEUES],
            held: [None; MAX_RETIRE_PORTS],
        }
    }

    /// No kernel waits or runs.
    pub fn is_empty(&self) -> bool {
        self.running == 0 && self.waiting == 0
    }

    /// The kernel that each queue offers, where the window dispatches `dispatch` in this cycle.
    pub fn next(&self, dispatch: Option<u8>) -> [Option<Kernel>; MAX_QUEUES] {
        std::array::from_fn(|q| {
            let waits = |slot: &u8| self.waiting >> slot & 1 == 1 && self.queue_of(*slot) == Some(q);
            let oldest = self.order.iter().copied().find(waits);
            let arrives = dispatch.filter(|slot| self.queue_of(*slot) == Some(q));
            self.offered[q].or(oldest).or(arrives).map(|slot| {
                let mut kernel = self.entries[usize::from(slot)];
                kernel.launch.grid = self.left[usize::from(slot)];
                kernel
            })
        })
    }

    /// What a CTA of the kernel in `slot` has; zero for slots that there are not.
    pub fn needs(&self, slot: u8) -> CtaNeeds {
        self.entries.get(usize::from(slot)).map_or(CtaNeeds::default(), |entry| entry.launch.needs)
    }

    /// The slot that each port offers for retirement.
    pub fn retire(&self) -> [Option<u8>; MAX_RETIRE_PORTS] {
        let held = self.held.iter().flatten().fold(0, |set: SlotSet, slot| set | 1 << slot);
        let mut ended = ones(self.running & !held).filter(|&slot| self.left[slot] == 0);
        let mut retire = self.held;
        for port in retire.iter_mut().take(self.params.retire_ports()).filter(|port| port.is_none()) {
            *port = ended.next().map(|slot| slot as u8);
        }
        retire
    }

    /// The outputs that follow from the state and from `input`; changes nothing.
    pub fn outputs(&self, input: &TableIn) -> TableOut {
        TableOut {
            next: self.next(input.dispatch),
            done: input.done.map(|done| self.needs(done.slot)),
            done_runs: input.done.map(|done| self.runs(done.slot)),
            done_error: self.done_error(&input.done),
            retire: self.retire(),
        }
    }

    /// One cycle: the outputs, then the clock edge.
    pub fn cycle(&mut self, input: &TableIn) -> TableOut {
        let out = self.outputs(input);
        for done in input.done.iter().filter(|done| done.valid) {
            if self.runs(done.slot) {
                let left = &mut self.left[usize::from(done.slot)];
                *left = left.saturating_sub(1);
            }
        }
        let insert = input.insert.filter(|kernel| usize::from(kernel.slot) < self.entries.len());
        if let Some(kernel) = insert {
            let slot = usize::from(kernel.slot);
            self.entries[slot] = kernel;
            self.left[slot] = kernel.launch.grid;
            self.order.retain(|other| *other != kernel.slot);
            self.order.push(kernel.slot);
        }
        if !input.rst_ni {
            self.running = 0;
            self.waiting = 0;
            self.offered = [None; MAX_QUEUES];
            self.held = [None; MAX_RETIRE_PORTS];
            return out;
        }
        if let Some(slot) = input.dispatch {
            if self.queue_of(slot).is_some() {
                self.waiting |= 1 << slot;
            }
            self.running |= one_hot(self.entries.len(), slot);
        }
        for ((offered, next), ready) in self.offered.iter_mut().zip(out.next).zip(input.next_ready) {
            let slot = next.map(|kernel| kernel.slot);
            *offered = slot.filter(|_| !ready);
            if let (Some(slot), true) = (slot, ready) {
                self.waiting &= !(1 << slot);
            }
        }
        for ((held, retire), ready) in self.held.iter_mut().zip(out.retire).zip(input.ret_ready) {
            *held = retire.filter(|_| !ready);
            if let (Some(slot), true) = (retire, ready) {
                self.running &= !(1 << slot);
            }
        }
        if let Some(kernel) = insert {
            self.running &= !(1 << kernel.slot);
        }
        out
    }

    /// The queue of the kernel in `slot`: none where it has no CTAs, or where there is no such slot.
    fn queue_of(&self, slot: u8) -> Option<usize> {
        let launch = &self.entries.get(usize::from(slot))?.launch;
        let queue = match self.params.queues() {
            MAX_QUEUES => usize::from(launch.kind == CtaType::Tensor),
            _ => 0,
        };
        (launch.grid > 0).then_some(queue)
    }

    /// An arbiter has the kernel in `slot`, or has had it, and not all of its CTAs have ended.
    pub fn runs(&self, slot: u8) -> bool {
        let handed = (self.running & !self.waiting).checked_shr(slot.into()).is_some_and(|set| set & 1 == 1);
        handed && self.left[usize::from(slot)] > 0
    }

    /// A completion of what no arbiter has, or more of a slot than it has left.
    fn done_error(&self, done: &[Done; DONE_PORTS]) -> bool {
        let valid = || done.iter().filter(|done| done.valid);
        valid().any(|one| {
            let count = valid().filter(|other| other.slot == one.slot).count();
            !self.runs(one.slot) || count > self.left[usize::from(one.slot)] as usize
        })
    }
}

/// The set of `slot`, if it is one of `n`: hardware shifts the others out.
fn one_hot(n: usize, slot: u8) -> SlotSet {
    if usize::from(slot) < n { 1 << slot } else { 0 }
}

/// The ports of a [`Kernel`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelPorts {
    slot: Slot,
    id: Slot,
    launch: LaunchPorts,
}

/// The ports of a [`Launch`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchPorts {
    grid: Slot,
    kind: Slot,
    partition: Slot,
    needs: NeedPorts,
}

impl LaunchPorts {
    /// `name` gives each port's name: of `grid`, `type`, `part`, `warps`, `regs`, `smem`.
    pub(crate) fn new(layout: &Layout, name: impl Fn(&str) -> String) -> Result<Self, MissingPort> {
        Ok(Self {
            grid: find(layout, &name("grid"))?,
            kind: find(layout, &name("type"))?,
            partition: find(layout, &name("part"))?,
            needs: NeedPorts::new(layout, name)?,
        })
    }

    pub(crate) fn get(&self, words: &[u32]) -> Launch {
        Launch {
            grid: self.grid.get(words) as u32,
            kind: CtaType::of_bit(self.kind.get(words) != 0),
            partition: self.partition.get(words) as u8,
            needs: self.needs.get(words),
        }
    }

    pub(crate) fn set(&self, words: &mut [u32], launch: &Launch) {
        self.grid.set(words, launch.grid.into());
        self.kind.set(words, launch.kind.bit().into());
        self.partition.set(words, launch.partition.into());
        self.needs.set(words, launch.needs);
    }
}

impl KernelPorts {
    /// `name` gives each port's name, also of `slot` and `id`.
    pub(crate) fn new(layout: &Layout, name: impl Fn(&str) -> String) -> Result<Self, MissingPort> {
        Ok(Self {
            slot: find(layout, &name("slot"))?,
            id: find(layout, &name("id"))?,
            launch: LaunchPorts::new(layout, name)?,
        })
    }

    pub(crate) fn get(&self, words: &[u32]) -> Kernel {
        let byte = |slot: Slot| slot.get(words) as u8;
        Kernel { slot: byte(self.slot), id: byte(self.id), launch: self.launch.get(words) }
    }

    pub(crate) fn set(&self, words: &mut [u32], kernel: &Kernel) {
        self.slot.set(words, kernel.slot.into());
        self.id.set(words, kernel.id.into());
        self.launch.set(words, &kernel.launch);
    }
}

/// The model behind flat words.
pub struct FlatTable {
    model: TableModel,
    ports: Vec<Port>,
    rst_ni: Slot,
    ins_slot: Slot,
    ins_id: Slot,
    ins: LaunchPorts,
    dispatch: [Slot; 2],
    next: Vec<(Slot, Slot, KernelPorts)>,
    done: Vec<(Slot, Slot, NeedPorts)>,
    done_runs: Vec<Slot>,
    done_err: Slot,
    ret_valid: Vec<Slot>,
    ret_ready: Vec<Slot>,
    ret_slot: Vec<Slot>,
}

impl FlatTable {
    /// The model with `params`, behind the hardware's `ports`.
    pub fn new(params: TableParams, ports: Vec<Port>) -> Result<Self, MissingPort> {
        let inputs = Layout::new(&ports, Direction::Input);
        let outputs = Layout::new(&ports, Direction::Output);
        let next = |q| {
            Ok((
                find(&outputs, &indexed("next_valid_o", q))?,
                find(&inputs, &indexed("next_ready_i", q))?,
                KernelPorts::new(&outputs, |field| indexed(&format!("next_{field}_o"), q))?,
            ))
        };
        let done = |p| {
            Ok((
                find(&inputs, &indexed("done_valid_i", p))?,
                find(&inputs, &indexed("done_slot_i", p))?,
                NeedPorts::new(&outputs, |resource| indexed(&format!("done_{resource}_o"), p))?,
            ))
        };
        let r = params.retire_ports();
        Ok(Self {
            model: TableModel::new(params),
            rst_ni: find(&inputs, "rst_ni")?,
            ins_slot: find(&inputs, "ins_slot_i")?,
            ins_id: find(&inputs, "ins_id_i")?,
            ins: LaunchPorts::new(&inputs, |field| format!("ins_{field}_i"))?,
            dispatch: [find(&inputs, "disp_valid_i")?, find(&inputs, "disp_slot_i")?],
            next: (0..params.queues()).map(next).collect::<Result<_, MissingPort>>()?,
            done: (0..DONE_PORTS).map(done).collect::<Result<_, MissingPort>>()?,
            done_runs: find_all(&outputs, "done_runs_o", DONE_PORTS)?,
            done_err: find(&outputs, "done_err_o")?,
            ret_valid: find_all(&outputs, "ret_valid_o", r)?,
            ret_ready: find_all(&inputs, "ret_ready_i", r)?,
            ret_slot: find_all(&outputs, "ret_slot_o", r)?,
            ports,
        })
    }
}

impl CycleModel for FlatTable {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, words: &[u32], out_words: &mut [u32]) -> Result<(), CycleError> {
        let bit = |slot: Slot| slot.get(words) != 0;
        let byte = |slot: Slot| slot.get(words) as u8;
        let insert = ones(self.ins_slot.get(words)).next().map(|slot| Kernel {
            slot: slot as u8,
            id: byte(self.ins_id),
            launch: self.ins.get(words),
        });
        let mut input = TableIn {
            rst_ni: bit(self.rst_ni),
            insert,
            dispatch: bit(self.dispatch[0]).then(|| byte(self.dispatch[1])),
            ..TableIn::default()
        };
        for (ready, (_, slot, _)) in input.next_ready.iter_mut().zip(&self.next) {
            *ready = bit(*slot);
        }
        for (done, (valid, slot, _)) in input.done.iter_mut().zip(&self.done) {
            *done = Done { valid: bit(*valid), slot: byte(*slot) };
        }
        for (ready, slot) in input.ret_ready.iter_mut().zip(&self.ret_ready) {
            *ready = bit(*slot);
        }
        let out = self.model.cycle(&input);

        out_words.fill(0);
        for ((valid, _, kernel), next) in self.next.iter().zip(out.next) {
            valid.set(out_words, next.is_some().into());
            kernel.set(out_words, &next.unwrap_or_default());
        }
        for ((_, _, needs), had) in self.done.iter().zip(out.done) {
            needs.set(out_words, had);
        }
        for (slot, runs) in self.done_runs.iter().zip(out.done_runs) {
            slot.set(out_words, runs.into());
        }
        self.done_err.set(out_words, out.done_error.into());
        for ((valid, slot), retire) in self.ret_valid.iter().zip(&self.ret_slot).zip(out.retire) {
            valid.set(out_words, retire.is_some().into());
            slot.set(out_words, retire.unwrap_or(0).into());
        }
        Ok(())
    }

    fn is_at_rest(&self) -> Option<bool> {
        Some(self.model.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(queues: usize) -> TableModel {
        TableModel::new(TableParams::new(8, 2, queues).unwrap_or_else(|e| panic!("{e}")))
    }

    /// Hardware shifts slots that there are not out of its sets.
    #[test]
    fn slots_that_there_are_not_hold_nothing() {
        for queues in [1, 2] {
            let mut table = table(queues);
            table.cycle(&TableIn {
                insert: Some(Kernel { slot: 200, ..kernel(0, 3, CtaType::Simt) }),
                ..IDLE
            });
            let out = table.cycle(&TableIn { dispatch: Some(8), ..IDLE });
            assert_eq!(out.next, [None; 2]);
            assert_eq!(table.cycle(&IDLE).next, [None; 2]);
            assert_eq!(table.cycle(&TableIn { dispatch: Some(200), ..IDLE }).retire, [None; 4]);
            assert!(end(&mut table, &[8]) && table.running == 0 && table.waiting == 0);
        }
    }

    const IDLE: TableIn = TableIn {
        rst_ni: true,
        insert: None,
        dispatch: None,
        next_ready: [false; 2],
        done: [Done { valid: false, slot: 0 }; DONE_PORTS],
        ret_ready: [false; 4],
    };

    fn kernel(slot: u8, grid: u32, kind: CtaType) -> Kernel {
        let needs = CtaNeeds { warps: u16::from(slot) + 1, registers: 2, smem: 3 };
        Kernel { slot, id: 100 + slot, launch: Launch { grid, kind, partition: 1, needs } }
    }

    /// Inserts and dispatches; the arbiters take it.
    fn start(table: &mut TableModel, slot: u8, grid: u32) {
        table.cycle(&TableIn { insert: Some(kernel(slot, grid, CtaType::Simt)), ..IDLE });
        table.cycle(&TableIn { dispatch: Some(slot), next_ready: [true; 2], ..IDLE });
    }

    /// CTAs of these slots end; whether that was an error.
    fn end(table: &mut TableModel, slots: &[u8]) -> bool {
        let mut input = IDLE;
        for (done, slot) in input.done.iter_mut().zip(slots) {
            *done = Done { valid: true, slot: *slot };
        }
        table.cycle(&input).done_error
    }

    fn retire(table: &mut TableModel, ret_ready: [bool; 4]) -> [Option<u8>; 2] {
        let out = table.cycle(&TableIn { ret_ready, ..IDLE });
        [out.retire[0], out.retire[1]]
    }

    #[test]
    fn a_grid_of_one_retires_in_the_cycle_after_its_cta_ends() {
        let mut table = table(1);
        start(&mut table, 3, 1);
        assert_eq!(retire(&mut table, [true; 4]), [None, None]);
        assert!(!end(&mut table, &[3]));
        assert_eq!(retire(&mut table, [true; 4]), [Some(3), None]);
        assert_eq!(retire(&mut table, [true; 4]), [None, None]);
        assert!(table.is_empty());
    }

    #[test]
    fn four_ctas_may_end_in_one_cycle() {
        let mut table = table(1);
        start(&mut table, 2, 5);
        start(&mut table, 5, 3);
        assert!(!end(&mut table, &[2, 2, 2, 2]));
        assert!(!end(&mut table, &[5, 5, 2, 5]));
        assert_eq!(retire(&mut table, [true; 4]), [Some(2), Some(5)]);
    }

    #[test]
    fn what_does_not_run_or_is_one_too_many_is_an_error_and_ignored() {
        let mut table = table(1);
        table.cycle(&TableIn { insert: Some(kernel(1, 4, CtaType::Simt)), ..IDLE });
        assert!(end(&mut table, &[1]));
        table.cycle(&TableIn { dispatch: Some(1), next_ready: [true; 2], ..IDLE });
        assert!(!end(&mut table, &[1, 1]));
        assert!(end(&mut table, &[1, 1, 1]));
        assert_eq!(retire(&mut table, [false; 4]), [Some(1), None]);
        assert!(end(&mut table, &[1]));
        assert!(end(&mut table, &[7]));
    }

    #[test]
    fn a_port_holds_its_slot_until_it_is_taken() {
        let mut table = table(1);
        for slot in [1, 2, 4] {
            start(&mut table, slot, 1);
        }
        end(&mut table, &[4]);
        assert_eq!(retire(&mut table, [false; 4]), [Some(4), None]);
        end(&mut table, &[1, 2]);
        assert_eq!(retire(&mut table, [false, true, false, false]), [Some(4), Some(1)]);
        assert_eq!(retire(&mut table, [true, false, false, false]), [Some(4), Some(2)]);
        assert_eq!(retire(&mut table, [true; 4]), [None, Some(2)]);
        assert!(table.is_empty());
    }

    #[test]
    fn an_empty_queue_shows_what_is_dispatched_and_what_is_not_taken_stays() {
        let mut table = table(1);
        for slot in 0..4 {
            table.cycle(&TableIn { insert: Some(kernel(slot, 1, CtaType::Simt)), ..IDLE });
        }
        let mut next = |dispatch, ready| {
            let out = table.cycle(&TableIn { dispatch, next_ready: [ready; 2], ..IDLE });
            assert_eq!(out.next[1], None);
            out.next[0].map(|kernel| (kernel.slot, kernel.id, kernel.launch.needs.warps))
        };
        assert_eq!(next(Some(2), true), Some((2, 102, 3)));
        assert_eq!(next(None, true), None);
        assert_eq!(next(Some(3), false), Some((3, 103, 4)));
        assert_eq!(next(Some(1), false), Some((3, 103, 4)));
        // Slot 1 is older, but slot 3 was there.
        assert_eq!(next(Some(0), true), Some((3, 103, 4)));
        assert_eq!(next(None, true), Some((0, 100, 1)));
        assert_eq!(next(None, true), Some((1, 101, 2)));
        assert_eq!(next(None, true), None);
    }

    #[test]
    fn age_is_when_a_kernel_came_and_not_its_slot() {
        let mut table = table(1);
        for slot in [2, 0, 1] {
            table.cycle(&TableIn { insert: Some(kernel(slot, 1, CtaType::Simt)), ..IDLE });
        }
        for slot in [1, 0, 2] {
            table.cycle(&TableIn { dispatch: Some(slot), ..IDLE });
        }
        let order: Vec<_> = (0..3)
            .map(|_| table.cycle(&TableIn { next_ready: [true; 2], ..IDLE }).next[0].map(|k| k.slot))
            .collect();
        // Slot 1 was offered first and stays.
        assert_eq!(order, [Some(1), Some(2), Some(0)]);
    }

    #[test]
    fn with_two_queues_no_type_waits_behind_the_other() {
        let mut table = table(2);
        table.cycle(&TableIn { insert: Some(kernel(0, 1, CtaType::Simt)), ..IDLE });
        table.cycle(&TableIn { insert: Some(kernel(1, 1, CtaType::Tensor)), ..IDLE });
        table.cycle(&TableIn { dispatch: Some(0), ..IDLE });
        let out = table.cycle(&TableIn { dispatch: Some(1), ..IDLE });
        assert_eq!(out.next.map(|next| next.map(|kernel| kernel.slot)), [Some(0), Some(1)]);
    }
}
