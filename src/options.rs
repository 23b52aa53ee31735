//! Options that several subcommands have.

use clap::{Args, ValueEnum};
use windlass_rtl::catalog::{BlockSpec, Request};
use windlass_rtl::params::{Encoding, ParamError, WindowKind};

/// `--window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WindowArg {
    /// Dependency matrix: one cycle to insert, one to retire
    Matrix,
    /// ACE's lists of ids: N cycles to insert, N-1 to retire
    List,
}

impl From<WindowArg> for WindowKind {
    fn from(arg: WindowArg) -> Self {
        match arg {
            WindowArg::Matrix => Self::Matrix,
            WindowArg::List => Self::List,
        }
    }
}

/// `--encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EncodingArg {
    /// A list of kernel ids, `--lanes` of them per beat
    Ids,
    /// A mask over the last M kernels
    Mask,
}

/// Parameters of the hardware, but for the window's kind and size.
#[derive(Clone, Copy, Debug, Args)]
pub struct HardwareArgs {
    /// Kernels that can retire in one cycle
    #[arg(long, default_value_t = 2, value_name = "1..4")]
    pub retire_ports: usize,
    /// Length M of the host's scheduled list
    #[arg(long, default_value_t = 128, value_name = "M")]
    pub scheduled: usize,
    /// How the host says what a kernel waits for
    #[arg(long, value_enum, default_value = "ids")]
    pub encoding: EncodingArg,
    /// Upstream ids per beat (encoding `ids`)
    #[arg(long, default_value_t = 4, value_name = "1..8")]
    pub lanes: usize,
}

impl HardwareArgs {
    /// What to ask the catalog for.
    pub fn request(self, window: WindowArg, slots: usize) -> Request {
        Request {
            slots,
            window: window.into(),
            retire_ports: self.retire_ports,
            scheduled: self.scheduled,
            encoding: match self.encoding {
                EncodingArg::Ids => Encoding::Ids { lanes: self.lanes },
                EncodingArg::Mask => Encoding::Mask,
            },
        }
    }

    /// The block called `name`.
    pub fn block(self, name: &str, window: WindowArg, slots: usize) -> Result<BlockSpec, ParamError> {
        BlockSpec::new(name, self.request(window, slots))
    }
}
