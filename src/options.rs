//! Options that several subcommands have.

use clap::{Args, ValueEnum};
use windlass_rtl::catalog::{BlockSpec, Request, parameters};
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

/// Parameters of the hardware, but for the window's kind and size. A block refuses those that it does not have.
#[derive(Clone, Copy, Debug, Args)]
pub struct HardwareArgs {
    /// Kernels that can retire in one cycle [default: 2]
    #[arg(long, value_name = "1..4")]
    retire_ports: Option<usize>,
    /// Length M of the host's scheduled list [default: 128]
    #[arg(long, value_name = "M")]
    scheduled: Option<usize>,
    /// How the host says what a kernel waits for [default: ids]
    #[arg(long, value_enum)]
    encoding: Option<EncodingArg>,
    /// Upstream ids per beat, encoding `ids` [default: 4]
    #[arg(long, value_name = "1..8")]
    lanes: Option<usize>,
}

impl HardwareArgs {
    /// The block called `name`; `window` only if the user named one.
    pub fn block(self, name: &str, window: Option<WindowArg>, slots: usize) -> Result<BlockSpec, ParamError> {
        let default = Request::default();
        let encoding = match (self.encoding, self.lanes) {
            (Some(EncodingArg::Mask), _) => Encoding::Mask,
            (_, Some(lanes)) => Encoding::Ids { lanes },
            (_, None) => default.encoding,
        };
        let possible = parameters(name, encoding)?;
        for (parameter, given) in [
            ("window", window.is_some()),
            ("retire-ports", self.retire_ports.is_some()),
            ("scheduled", self.scheduled.is_some()),
            ("encoding", self.encoding.is_some()),
            ("lanes", self.lanes.is_some()),
        ] {
            if given && !possible.contains(&parameter) {
                let with = if encoding == Encoding::Mask { " with encoding mask" } else { "" };
                let block = format!("block `{name}`{with}");
                return Err(ParamError::NoSuchParameter { block, parameter, possible: possible.join(", ") });
            }
        }
        let request = Request {
            slots,
            window: window.map_or(default.window, WindowKind::from),
            retire_ports: self.retire_ports.unwrap_or(default.retire_ports),
            scheduled: self.scheduled.unwrap_or(default.scheduled),
            encoding,
        };
        BlockSpec::new(name, request)
    }
}
