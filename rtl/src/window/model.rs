//! What the golden models of both windows have in common: their inputs and outputs, typed and as flat words.

use crate::kernel_scheduler::io::{MAX_RETIRE_PORTS, Offer};
use crate::model::{CycleError, CycleModel, one_hot};
use crate::params::{WindowKind, WindowParams};
use crate::port::{Direction, Layout, MissingPort, Port, Slot, find, find_all};
use crate::window_list::model::WindowListModel;
use crate::window_matrix::model::WindowMatrixModel;

/// A set of slots: bit s is slot s.
pub type SlotSet = u128;

/// A set of the window's places: bit p is place p.
pub type PlaceSet = u128;

/// What becomes of a set of places when each place of `shift`, which are all from some place on, takes what the one above has.
pub fn shifted(places: PlaceSet, shift: PlaceSet) -> PlaceSet {
    (shift & places >> 1) | (!shift & places)
}

/// Inputs of a window in one cycle; the same for both kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowIn {
    /// Reset, active low.
    pub rst_ni: bool,
    /// The kernel to insert and the places of those it waits for, all of which must be live.
    pub insert: Option<(u8, PlaceSet)>,
    /// The offered kernel is taken.
    pub disp_ready: bool,
    /// Slots whose kernels retire.
    pub retire: [Option<u8>; MAX_RETIRE_PORTS],
}

/// Outputs of a window in one cycle; the same for both kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowOut {
    /// The insertion is taken.
    pub ins_ready: bool,
    /// The slot that the kernel gets which is inserted in this cycle.
    pub ins_slot: Option<usize>,
    /// The offered kernel.
    pub offer: Option<Offer>,
    /// The retirement at each port is taken.
    pub retire_ready: [bool; MAX_RETIRE_PORTS],
    /// A retirement was ignored.
    pub retire_error: bool,
    /// Places whose kernels have not retired, nor retire in this cycle.
    pub live: PlaceSet,
    /// Places whose kernel comes from the place above at the end of this cycle.
    pub shift: PlaceSet,
    /// Places in use.
    pub occupancy: usize,
    /// Id of the oldest kernel that has a place.
    pub oldest: Option<u8>,
    /// No place is free.
    pub full: bool,
    /// An insertion or a retirement is being worked on.
    pub busy: bool,
}

/// The model of either window.
#[derive(Clone, Debug)]
pub enum WindowModel {
    /// `window_matrix`.
    Matrix(WindowMatrixModel),
    /// `window_list`.
    List(WindowListModel),
}

impl WindowModel {
    /// An empty window.
    pub fn new(kind: WindowKind, params: WindowParams) -> Self {
        match kind {
            WindowKind::Matrix => Self::Matrix(WindowMatrixModel::new(params)),
            WindowKind::List => Self::List(WindowListModel::new(params)),
        }
    }

    /// Id in each place: an output that follows from the state alone.
    pub fn ids(&self) -> &[u8] {
        match self {
            Self::Matrix(w) => w.ids(),
            Self::List(w) => w.ids(),
        }
    }

    /// The outputs that follow from the state and from `input`; changes nothing.
    pub fn outputs(&self, input: &WindowIn) -> WindowOut {
        match self {
            Self::Matrix(w) => w.outputs(input),
            Self::List(w) => w.outputs(input),
        }
    }

    /// One cycle: the outputs, then the clock edge.
    pub fn cycle(&mut self, input: &WindowIn) -> WindowOut {
        match self {
            Self::Matrix(w) => w.cycle(input),
            Self::List(w) => w.cycle(input),
        }
    }
}

/// A window's model behind flat words.
pub struct FlatWindow {
    model: WindowModel,
    ports: Vec<Port>,
    inputs: Layout,
    outputs: Layout,
    ret_valid: Vec<Slot>,
    ret_slot: Vec<Slot>,
    ret_ready: Vec<Slot>,
    place_id: Vec<Slot>,
}

impl FlatWindow {
    /// The model of `kind`, behind the hardware's `ports`.
    pub fn new(kind: WindowKind, params: WindowParams, ports: Vec<Port>) -> Result<Self, MissingPort> {
        let inputs = Layout::new(&ports, Direction::Input);
        let outputs = Layout::new(&ports, Direction::Output);
        let r = params.retire_ports();
        Ok(Self {
            model: WindowModel::new(kind, params),
            ret_valid: find_all(&inputs, "ret_valid_i", r)?,
            ret_slot: find_all(&inputs, "ret_slot_i", r)?,
            ret_ready: find_all(&outputs, "ret_ready_o", r)?,
            place_id: find_all(&outputs, "place_id_o", params.slots())?,
            ports,
            inputs,
            outputs,
        })
    }
}

impl CycleModel for FlatWindow {
    fn ports(&self) -> Vec<Port> {
        self.ports.clone()
    }

    fn cycle(&mut self, words: &[u32], out_words: &mut [u32]) -> Result<(), CycleError> {
        let fault = |missing: MissingPort| CycleError { cycle: 0, message: missing.to_string() };
        let input = |name| find(&self.inputs, name).map_err(fault);
        let bit = |name| input(name).map(|s| s.get(words) != 0);
        let mut retire = [None; MAX_RETIRE_PORTS];
        for ((to, valid), slot) in retire.iter_mut().zip(&self.ret_valid).zip(&self.ret_slot) {
            *to = (valid.get(words) != 0).then(|| slot.get(words) as u8);
        }
        let insert = if bit("ins_valid_i")? {
            Some((input("ins_id_i")?.get(words) as u8, input("ins_up_i")?.get(words)))
        } else {
            None
        };
        let given = WindowIn { rst_ni: bit("rst_ni")?, insert, disp_ready: bit("disp_ready_i")?, retire };

        out_words.fill(0);
        for (slot, id) in self.place_id.iter().zip(self.model.ids()) {
            slot.set(out_words, (*id).into());
        }
        let out = self.model.cycle(&given);
        for (slot, ready) in self.ret_ready.iter().zip(out.retire_ready) {
            slot.set(out_words, ready.into());
        }
        let output = |name| find(&self.outputs, name).map_err(fault);
        for (name, value) in [
            ("ins_ready_o", u128::from(out.ins_ready)),
            ("ins_slot_o", one_hot(out.ins_slot)),
            ("place_live_o", out.live),
            ("place_shift_o", out.shift),
            ("disp_valid_o", out.offer.is_some().into()),
            ("disp_id_o", out.offer.map_or(0, |o| o.id).into()),
            ("disp_slot_o", out.offer.map_or(0, |o| o.slot).into()),
            ("ret_err_o", out.retire_error.into()),
            ("occupancy_o", out.occupancy as u128),
            ("oldest_valid_o", out.oldest.is_some().into()),
            ("oldest_id_o", out.oldest.unwrap_or(0).into()),
            ("full_o", out.full.into()),
            ("busy_o", out.busy.into()),
        ] {
            output(name)?.set(out_words, value);
        }
        Ok(())
    }
}
