//! Golden model of `window_matrix`: kernels in slots, each with the set of slots it waits for.

use crate::kernel_scheduler::io::{MAX_RETIRE_PORTS, Offer};
use crate::model::ones;
use crate::params::WindowParams;
use crate::window::model::{SlotSet, WindowIn, WindowOut};

#[derive(Clone, Debug)]
struct Kernel {
    age: u64,
    upstream: SlotSet,
    dispatched: bool,
}

/// The model: one step per clock.
#[derive(Clone, Debug)]
pub struct WindowMatrixModel {
    params: WindowParams,
    slots: Vec<Option<Kernel>>,
    ids: Vec<u8>,
    held: Option<usize>,
    inserted: u64,
}

impl WindowMatrixModel {
    /// An empty window.
    pub fn new(params: WindowParams) -> Self {
        let n = params.slots();
        Self { params, slots: vec![None; n], ids: vec![0; n], held: None, inserted: 0 }
    }

    /// Id last written to each slot.
    pub fn ids(&self) -> &[u8] {
        &self.ids
    }

    /// The slot of `queued` whose kernel came first.
    pub fn first(&self, queued: SlotSet) -> Option<usize> {
        ones(queued).min_by_key(|slot| self.slots[*slot].as_ref().map(|kernel| kernel.age))
    }

    /// The outputs that follow from the state and from `input`; changes nothing.
    pub fn outputs(&self, input: &WindowIn) -> WindowOut {
        let (retiring, retire_error) = self.retiring(input);
        let mut retire_ready = [false; MAX_RETIRE_PORTS];
        retire_ready[..self.params.retire_ports()].fill(true);
        let used = self.used();
        let occupancy = used.count_ones() as usize;
        let full = occupancy == self.slots.len();
        WindowOut {
            ins_ready: !full,
            ins_slot: input.insert.and_then(|_| self.free()),
            offer: self.offered().map(|s| Offer { id: self.ids[s], slot: s as u8 }),
            retire_ready,
            retire_error,
            live: used & !retiring,
            occupancy,
            oldest: self.oldest(|_| true).map(|s| self.ids[s]),
            full,
            busy: false,
        }
    }

    /// One cycle: the outputs, then the clock edge.
    pub fn cycle(&mut self, input: &WindowIn) -> WindowOut {
        let out = self.outputs(input);
        if !input.rst_ni {
            *self = Self::new(self.params);
            return out;
        }
        let offered = self.offered();
        let (retiring, _) = self.retiring(input);
        ones(retiring).for_each(|slot| self.slots[slot] = None);
        for kernel in self.slots.iter_mut().flatten() {
            kernel.upstream &= !retiring;
        }
        self.held = offered;
        if let Some(slot) = offered
            && input.disp_ready
        {
            self.held = None;
            if let Some(kernel) = &mut self.slots[slot] {
                kernel.dispatched = true;
            }
        }
        if let (Some((id, upstream)), Some(slot)) = (input.insert, out.ins_slot) {
            self.inserted += 1;
            self.ids[slot] = id;
            self.slots[slot] = Some(Kernel { age: self.inserted, upstream, dispatched: false });
        }
        out
    }

    fn used(&self) -> SlotSet {
        self.slots.iter().enumerate().fold(0, |set, (s, kernel)| set | SlotSet::from(kernel.is_some()) << s)
    }

    /// The lowest slot that is free.
    fn free(&self) -> Option<usize> {
        self.slots.iter().position(Option::is_none)
    }

    /// The slot on offer: the one held from the cycle before, else the oldest that is ready.
    fn offered(&self) -> Option<usize> {
        self.held.or_else(|| self.oldest(|kernel| !kernel.dispatched && kernel.upstream == 0))
    }

    fn oldest(&self, wanted: impl Fn(&Kernel) -> bool) -> Option<usize> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(slot, kernel)| kernel.as_ref().filter(|k| wanted(k)).map(|k| (k.age, slot)))
            .min()
            .map(|(_, slot)| slot)
    }

    /// The slots that retire in this cycle, and whether any port asked for what cannot retire.
    fn retiring(&self, input: &WindowIn) -> (SlotSet, bool) {
        let mut retiring = 0;
        let mut error = false;
        for slot in input.retire.iter().flatten().map(|s| usize::from(*s)) {
            let dispatched = self.slots.get(slot).is_some_and(|k| k.as_ref().is_some_and(|k| k.dispatched));
            if dispatched && retiring >> slot & 1 == 0 {
                retiring |= 1 << slot;
            } else {
                error = true;
            }
        }
        (retiring, error)
    }
}
