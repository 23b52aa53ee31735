//! Golden model of `window_list`: each slot keeps a list of upstream ids, walked one entry per cycle.

use crate::kernel_scheduler::io::{MAX_RETIRE_PORTS, Offer};
use crate::model::one_hot;
use crate::params::WindowParams;
use crate::window::model::{SlotSet, WindowIn, WindowOut};

#[derive(Clone, Debug)]
struct Kernel {
    age: u64,
    /// The list: upstream ids, `None` where one has retired.
    upstream: Vec<Option<u8>>,
    dispatched: bool,
}

/// What the window is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    Idle,
    /// The kernel in `slot` gets its list: positions from `step` on are still to be looked at.
    Insert {
        slot: usize,
        upstream: SlotSet,
        step: usize,
    },
    /// `id` has retired: entries from `step` on are still to be cleared, in all slots at once.
    Update {
        id: u8,
        step: usize,
    },
}

/// The model: one step per clock.
#[derive(Clone, Debug)]
pub struct WindowListModel {
    params: WindowParams,
    slots: Vec<Option<Kernel>>,
    ids: Vec<u8>,
    held: Option<usize>,
    inserted: u64,
    walk: Walk,
}

impl WindowListModel {
    /// An empty window.
    pub fn new(params: WindowParams) -> Self {
        let n = params.slots();
        Self { params, slots: vec![None; n], ids: vec![0; n], held: None, inserted: 0, walk: Walk::Idle }
    }

    /// Id last written to each slot.
    pub fn ids(&self) -> &[u8] {
        &self.ids
    }

    /// The outputs that follow from the state and from `input`; changes nothing.
    pub fn outputs(&self, input: &WindowIn) -> WindowOut {
        let idle = self.walk == Walk::Idle;
        let ports = &input.retire[..self.params.retire_ports()];
        let first = ports.iter().position(Option::is_some);
        let mut retire_ready = [false; MAX_RETIRE_PORTS];
        for (port, ready) in retire_ready.iter_mut().enumerate().take(ports.len()) {
            *ready = idle && first.is_none_or(|f| port <= f);
        }
        let taken = self.retired(input);
        let used = self.used();
        let occupancy = used.count_ones() as usize;
        let full = occupancy == self.slots.len();
        let ins_ready = idle && !full && first.is_none();
        WindowOut {
            ins_ready,
            ins_slot: input.insert.filter(|_| ins_ready).and_then(|_| self.free()),
            offer: self.offered().map(|s| Offer { id: self.ids[s], slot: s as u8 }),
            retire_ready,
            retire_error: idle && first.is_some() && taken.is_none(),
            live: used & !one_hot(taken),
            shift: 0,
            occupancy,
            oldest: self.oldest(|_, _| true).map(|s| self.ids[s]),
            full,
            busy: !idle,
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
        let retired = self.retired(input);

        self.held = offered;
        if let Some(slot) = offered
            && input.disp_ready
        {
            self.held = None;
            if let Some(kernel) = &mut self.slots[slot] {
                kernel.dispatched = true;
            }
        }
        if let Some(slot) = retired {
            self.slots[slot] = None;
            self.walk = Walk::Update { id: self.ids[slot], step: 0 };
        } else if let (Some((id, upstream)), Some(slot)) = (input.insert, out.ins_slot) {
            self.inserted += 1;
            self.ids[slot] = id;
            self.slots[slot] = Some(Kernel { age: self.inserted, upstream: Vec::new(), dispatched: false });
            self.walk = Walk::Insert { slot, upstream, step: 0 };
        }
        self.step();
        out
    }

    /// Looks at one list position; N of them make an insertion, N - 1 an update.
    fn step(&mut self) {
        let n = self.slots.len();
        match &mut self.walk {
            Walk::Idle => {}
            Walk::Insert { slot, upstream, step } => {
                if *upstream >> *step & 1 == 1
                    && let Some(kernel) = &mut self.slots[*slot]
                {
                    kernel.upstream.push(Some(self.ids[*step]));
                }
                *step += 1;
                if *step == n {
                    self.walk = Walk::Idle;
                }
            }
            Walk::Update { id, step } => {
                for kernel in self.slots.iter_mut().flatten() {
                    if let Some(entry) = kernel.upstream.get_mut(*step)
                        && *entry == Some(*id)
                    {
                        *entry = None;
                    }
                }
                *step += 1;
                if *step == n - 1 {
                    self.walk = Walk::Idle;
                }
            }
        }
    }

    fn used(&self) -> SlotSet {
        self.slots.iter().enumerate().fold(0, |set, (s, kernel)| set | SlotSet::from(kernel.is_some()) << s)
    }

    /// The lowest slot that is free.
    fn free(&self) -> Option<usize> {
        self.slots.iter().position(Option::is_none)
    }

    fn offered(&self) -> Option<usize> {
        let inserting = match self.walk {
            Walk::Insert { slot, .. } => Some(slot),
            _ => None,
        };
        self.held.or_else(|| {
            self.oldest(|slot, kernel| {
                !kernel.dispatched && kernel.upstream.iter().all(Option::is_none) && Some(slot) != inserting
            })
        })
    }

    fn oldest(&self, wanted: impl Fn(usize, &Kernel) -> bool) -> Option<usize> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(slot, kernel)| kernel.as_ref().filter(|k| wanted(slot, k)).map(|k| (k.age, slot)))
            .min()
            .map(|(_, slot)| slot)
    }

    /// The slot that retires in this cycle: that of the lowest valid port, where its kernel was dispatched.
    fn retired(&self, input: &WindowIn) -> Option<usize> {
        if self.walk != Walk::Idle {
            return None;
        }
        let slot = usize::from(*input.retire[..self.params.retire_ports()].iter().flatten().next()?);
        self.slots.get(slot)?.as_ref().filter(|k| k.dispatched).map(|_| slot)
    }
}
