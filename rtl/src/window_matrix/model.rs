//! Golden model of `window_matrix`: kernels in places, in order of age, each with the set of places it waits for.

use crate::kernel_scheduler::io::{MAX_RETIRE_PORTS, Offer};
use crate::model::ones;
use crate::params::WindowParams;
use crate::window::model::{PlaceSet, WindowIn, WindowOut, shifted};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// It was taken, or waits to be taken in `held`.
    Running,
    /// It has retired, and its place is not closed yet.
    Gone,
}

#[derive(Clone, Copy, Debug)]
struct Kernel {
    upstream: PlaceSet,
    state: State,
    /// It was found ready in the cycle before.
    found: bool,
}

/// What each retire port that is used asks for: the place of the kernel in its slot if that may retire, else none.
type Asked = [Option<PlaceSet>; MAX_RETIRE_PORTS];

/// The model: one step per clock.
#[derive(Clone, Debug)]
pub struct WindowMatrixModel {
    params: WindowParams,
    /// By place, the oldest first.
    kernels: Vec<Kernel>,
    /// The slot of each place; those above the kernels are free.
    slots: Vec<u8>,
    ids: Vec<u8>,
    /// The offer that was not taken in the cycle before.
    held: Option<Offer>,
    /// Pipelined: what the retire ports asked for in the cycle before.
    asked: Asked,
    /// The place that is closed at the end of this cycle.
    closing: Option<usize>,
}

impl WindowMatrixModel {
    /// An empty window.
    pub fn new(params: WindowParams) -> Self {
        let n = params.slots();
        Self {
            params,
            kernels: Vec::new(),
            slots: (0..n).map(|slot| slot as u8).collect(),
            ids: vec![0; n],
            held: None,
            asked: Asked::default(),
            closing: None,
        }
    }

    /// Id in each place.
    pub fn ids(&self) -> &[u8] {
        &self.ids
    }

    /// The outputs that follow from the state and from `input`; changes nothing.
    pub fn outputs(&self, input: &WindowIn) -> WindowOut {
        let (retiring, retire_error) = self.retiring(input);
        let mut retire_ready = [false; MAX_RETIRE_PORTS];
        retire_ready[..self.params.retire_ports()].fill(true);
        let there = self.places(|kernel| kernel.state != State::Gone);
        let free = self.slots.get(self.kernels.len());
        WindowOut {
            ins_ready: free.is_some(),
            ins_slot: input.insert.and(free).map(|slot| usize::from(*slot)),
            offer: self.held.or(self.pick().map(|place| self.offer(place))),
            retire_ready,
            retire_error,
            live: there & !retiring,
            shift: self.shift(),
            occupancy: self.kernels.len(),
            oldest: self.kernels.first().map(|_| self.ids[0]),
            full: free.is_none(),
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
        let (retiring, _) = self.retiring(input);
        let leaves = self.pick().filter(|_| self.held.is_none());
        let gone = self.places(|kernel| kernel.state == State::Gone);
        // One that retires in this cycle is not asked for twice.
        self.asked = self.asked(input).map(|port| port.map(|place| shifted(place & !retiring, out.shift)));
        self.held = out.offer.filter(|_| !input.disp_ready);
        for (place, kernel) in self.kernels.iter_mut().enumerate() {
            kernel.upstream &= !retiring;
            kernel.found = kernel.state == State::Waiting && kernel.upstream == 0 && leaves != Some(place);
        }
        if let Some(place) = leaves {
            self.kernels[place].state = State::Running;
        }
        ones(retiring).for_each(|place| self.kernels[place].state = State::Gone);
        if let (Some((id, upstream)), true) = (input.insert, out.ins_ready) {
            self.ids[self.kernels.len()] = id;
            self.kernels.push(Kernel { upstream, state: State::Waiting, found: false });
        }
        if let Some(place) = self.closing {
            self.kernels.remove(place);
            let slot = self.slots.remove(place);
            self.slots.push(slot);
            let last = self.ids[self.ids.len() - 1];
            self.ids.remove(place);
            self.ids.push(last);
            self.kernels.iter_mut().for_each(|kernel| kernel.upstream = shifted(kernel.upstream, out.shift));
        }
        self.closing = ones(shifted(gone, out.shift)).next();
        out
    }

    fn places(&self, wanted: impl Fn(&Kernel) -> bool) -> PlaceSet {
        self.kernels.iter().enumerate().fold(0, |set, (p, kernel)| set | PlaceSet::from(wanted(kernel)) << p)
    }

    /// The place that is closed and all above it.
    fn shift(&self) -> PlaceSet {
        let all = PlaceSet::MAX >> (128 - self.params.slots());
        self.closing.map_or(0, |place| all & PlaceSet::MAX << place)
    }

    /// The place of the oldest kernel that may be offered.
    fn pick(&self) -> Option<usize> {
        self.kernels.iter().position(|kernel| match self.params.pipelined() {
            true => kernel.found,
            false => kernel.state == State::Waiting && kernel.upstream == 0,
        })
    }

    fn offer(&self, place: usize) -> Offer {
        Offer { id: self.ids[place], slot: self.slots[place] }
    }

    fn asked(&self, input: &WindowIn) -> Asked {
        let may = |slot: u8, place: usize| {
            self.slots[place] == slot
                && self.kernels[place].state == State::Running
                && self.held.is_none_or(|held| held.slot != slot)
        };
        input.retire.map(|port| {
            let places = port.map(|slot| (0..self.kernels.len()).filter(move |place| may(slot, *place)));
            places.map(|places| places.fold(0, |set, place| set | 1 << place))
        })
    }

    /// The places whose kernels retire in this cycle, and whether any port asked for what cannot retire.
    fn retiring(&self, input: &WindowIn) -> (PlaceSet, bool) {
        let asked = if self.params.pipelined() { self.asked } else { self.asked(input) };
        asked
            .into_iter()
            .flatten()
            .fold((0, false), |(retiring, error), place| (retiring | place, error || place & !retiring == 0))
    }
}
