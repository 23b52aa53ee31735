//! Golden model of `window_matrix`: kernels in slots, each with the set of slots it waits for.

use crate::kernel_scheduler::io::{MAX_RETIRE_PORTS, Offer};
use crate::params::WindowParams;
use crate::window::model::{WindowIn, WindowOut};
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
struct Kernel {
    age: u64,
    upstream: BTreeSet<usize>,
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

    /// The outputs that follow from the state and from `input`; changes nothing.
    pub fn outputs(&self, input: &WindowIn) -> WindowOut {
        let (retiring, retire_error) = self.retiring(input);
        let mut retire_ready = [false; MAX_RETIRE_PORTS];
        retire_ready[..self.params.retire_ports()].fill(true);
        let used: BTreeSet<usize> = (0..self.slots.len()).filter(|&s| self.slots[s].is_some()).collect();
        WindowOut {
            ins_ready: used.len() < self.slots.len(),
            offer: self.offered().map(|s| Offer { id: self.ids[s], slot: s as u8 }),
            retire_ready,
            retire_error,
            live: used.difference(&retiring).copied().collect(),
            ids: self.ids.clone(),
            occupancy: used.len(),
            oldest: self.oldest(|_| true).map(|s| self.ids[s]),
            full: used.len() == self.slots.len(),
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
        let free = self.slots.iter().position(Option::is_none);
        let (retiring, _) = self.retiring(input);
        for &slot in &retiring {
            self.slots[slot] = None;
        }
        for kernel in self.slots.iter_mut().flatten() {
            kernel.upstream.retain(|slot| !retiring.contains(slot));
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
        if let (Some((id, upstream)), Some(slot)) = (&input.insert, free) {
            self.inserted += 1;
            self.ids[slot] = *id;
            self.slots[slot] =
                Some(Kernel { age: self.inserted, upstream: upstream.clone(), dispatched: false });
        }
        out
    }

    /// The slot on offer: the one held from the cycle before, else the oldest that is ready.
    fn offered(&self) -> Option<usize> {
        self.held.or_else(|| self.oldest(|kernel| !kernel.dispatched && kernel.upstream.is_empty()))
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
    fn retiring(&self, input: &WindowIn) -> (BTreeSet<usize>, bool) {
        let mut retiring = BTreeSet::new();
        let mut error = false;
        for slot in input.retire.iter().flatten().map(|s| usize::from(*s)) {
            let dispatched = self.slots.get(slot).is_some_and(|k| k.as_ref().is_some_and(|k| k.dispatched));
            error |= !dispatched || !retiring.insert(slot);
        }
        (retiring, error)
    }
}
