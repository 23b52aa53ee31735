//! Golden model of `kernel_scheduler`: the two blocks' models, joined as the hardware joins them.

use super::io::{SchedulerIn, SchedulerOut};
use crate::params::{SchedulerParams, WindowKind};
use crate::upstream_load::model::{UpstreamLoadModel, WindowView};
use crate::window_list::model::WindowListModel;
use crate::window_matrix::model::{WindowIn, WindowMatrixModel, WindowOut};

#[derive(Clone, Debug)]
enum Window {
    Matrix(WindowMatrixModel),
    List(WindowListModel),
}

impl Window {
    fn outputs(&self, input: &WindowIn) -> WindowOut {
        match self {
            Self::Matrix(w) => w.outputs(input),
            Self::List(w) => w.outputs(input),
        }
    }

    fn cycle(&mut self, input: &WindowIn) -> WindowOut {
        match self {
            Self::Matrix(w) => w.cycle(input),
            Self::List(w) => w.cycle(input),
        }
    }
}

/// The model: one step per clock.
#[derive(Clone, Debug)]
pub struct SchedulerModel {
    window: Window,
    upstream: UpstreamLoadModel,
}

impl SchedulerModel {
    /// An empty scheduler.
    pub fn new(params: SchedulerParams) -> Self {
        let window = match params.kind() {
            WindowKind::Matrix => Window::Matrix(WindowMatrixModel::new(params.window())),
            WindowKind::List => Window::List(WindowListModel::new(params.window())),
        };
        Self { window, upstream: UpstreamLoadModel::new(params.upstream()) }
    }

    /// One cycle: the outputs for `input`, then the clock edge.
    pub fn cycle(&mut self, input: &SchedulerIn) -> SchedulerOut {
        let mut to_window = WindowIn {
            rst_ni: input.rst_ni,
            insert: None,
            disp_ready: input.disp_ready,
            retire: input.retire,
        };
        let seen = self.window.outputs(&to_window);
        let view =
            WindowView { live: seen.live, ids: seen.ids, oldest: seen.oldest, ins_ready: seen.ins_ready };
        let load = self.upstream.cycle(input.rst_ni, input.host, &view);
        let waiting = load.insert.is_some() && !seen.ins_ready;
        to_window.insert = load.insert;
        let out = self.window.cycle(&to_window);
        SchedulerOut {
            host_ready: load.host_ready,
            offer: out.offer,
            retire_ready: out.retire_ready,
            occupancy: out.occupancy as u8,
            oldest: out.oldest,
            stall_limit: load.stall_limit,
            stall_full: waiting && out.full,
            stall_busy: waiting && !out.full,
            busy: out.busy,
            retire_error: out.retire_error,
        }
    }
}
