//! Parameters of the blocks, checked where they are made.

use thiserror::Error;

/// Width of a kernel id in bits; ids count up by one per kernel and wrap.
pub const ID_BITS: usize = 8;

/// Window sizes that are compiled in (sizes are const generics in rust-hdl).
pub const WINDOW_SLOTS: [usize; 9] = [4, 8, 16, 24, 32, 48, 64, 96, 128];

/// Retire ports that a window can have.
pub const RETIRE_PORTS: std::ops::RangeInclusive<usize> = 1..=4;

/// Upstream ids that one beat of the host channel can carry (`ids` encoding).
pub const IDS_PER_BEAT: std::ops::RangeInclusive<usize> = 1..=8;

/// Length M of the scheduled list (`ids` encoding): any of these.
pub const SCHEDULED: std::ops::RangeInclusive<usize> = 8..=255;

/// Length M of the scheduled list with the `mask` encoding, where it is the width of the mask and so must be compiled in.
pub const SCHEDULED_MASK: [usize; 6] = [8, 16, 32, 64, 128, 255];

/// A parameter that cannot be built, with what can.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParamError {
    /// The size is not among those compiled in.
    #[error("{parameter} = {got} is not compiled in; possible: {possible}")]
    NotCompiledIn {
        /// The parameter's name as on the command line.
        parameter: &'static str,
        /// The value asked for.
        got: usize,
        /// What would work.
        possible: String,
    },
    /// The value is outside its range.
    #[error("{parameter} = {got} is outside {min}..={max}")]
    OutOfRange {
        /// The parameter's name as on the command line.
        parameter: &'static str,
        /// The value asked for.
        got: usize,
        /// Smallest value that works.
        min: usize,
        /// Largest value that works.
        max: usize,
    },
    /// The block has no such parameter.
    #[error("{block} has no parameter {parameter}; it has: {possible}")]
    NoSuchParameter {
        /// The block.
        block: String,
        /// The parameter's name as on the command line.
        parameter: &'static str,
        /// The parameters it has.
        possible: String,
    },
    /// There is no such block.
    #[error("there is no block `{got}`; possible: {possible}")]
    NoSuchBlock {
        /// The name asked for.
        got: String,
        /// The blocks there are.
        possible: String,
    },
}

/// Which window the scheduler has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WindowKind {
    /// Dependency matrix: one cycle to insert, one to retire.
    Matrix,
    /// ACE's lists of upstream ids: N cycles to insert, N-1 to retire.
    List,
}

impl WindowKind {
    /// The name on the command line and in module names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::List => "list",
        }
    }
}

/// How the host says what a kernel waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encoding {
    /// A list of kernel ids, `lanes` of them per beat.
    Ids {
        /// Ids per beat.
        lanes: usize,
    },
    /// A mask over the last M kernels: bit j is set where the kernel depends on the one sent j + 1 before it.
    Mask,
}

impl Encoding {
    /// The name on the command line and in module names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ids { .. } => "ids",
            Self::Mask => "mask",
        }
    }
}

/// Parameter of a picker: how many requests it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PickerParams(usize);

impl PickerParams {
    /// Checks `requests` against [`WINDOW_SLOTS`].
    pub fn new(requests: usize) -> Result<Self, ParamError> {
        compiled_in("slots", requests, &WINDOW_SLOTS)?;
        Ok(Self(requests))
    }

    /// Number of requests.
    pub fn requests(self) -> usize {
        self.0
    }
}

/// Parameters of a scheduling window, of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowParams {
    slots: usize,
    retire_ports: usize,
}

impl WindowParams {
    /// Checks `slots` against [`WINDOW_SLOTS`] and `retire_ports` against [`RETIRE_PORTS`].
    pub fn new(slots: usize, retire_ports: usize) -> Result<Self, ParamError> {
        compiled_in("slots", slots, &WINDOW_SLOTS)?;
        in_range("retire-ports", retire_ports, RETIRE_PORTS)?;
        Ok(Self { slots, retire_ports })
    }

    /// Number N of slots.
    pub fn slots(self) -> usize {
        self.slots
    }

    /// Number R of retire ports.
    pub fn retire_ports(self) -> usize {
        self.retire_ports
    }

    /// Bits of a slot number.
    pub fn slot_bits(self) -> usize {
        slot_bits(self.slots)
    }
}

/// Parameters of the upstream load module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UpstreamParams {
    slots: usize,
    scheduled: usize,
    encoding: Encoding,
}

impl UpstreamParams {
    /// Checks `slots`, the scheduled list's length M (`scheduled`) and the encoding against each other.
    pub fn new(slots: usize, scheduled: usize, encoding: Encoding) -> Result<Self, ParamError> {
        compiled_in("slots", slots, &WINDOW_SLOTS)?;
        match encoding {
            Encoding::Ids { lanes } => {
                in_range("scheduled", scheduled, SCHEDULED)?;
                in_range("lanes", lanes, IDS_PER_BEAT)?;
            }
            Encoding::Mask => compiled_in("scheduled", scheduled, &SCHEDULED_MASK)?,
        }
        Ok(Self { slots, scheduled, encoding })
    }

    /// Number N of window slots.
    pub fn slots(self) -> usize {
        self.slots
    }

    /// Length M of the scheduled list.
    pub fn scheduled(self) -> usize {
        self.scheduled
    }

    /// How upstream arrives.
    pub fn encoding(self) -> Encoding {
        self.encoding
    }
}

/// Parameters of the scheduler: a window and its upstream load module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SchedulerParams {
    kind: WindowKind,
    window: WindowParams,
    upstream: UpstreamParams,
}

impl SchedulerParams {
    /// Checks every part.
    pub fn new(
        kind: WindowKind,
        slots: usize,
        retire_ports: usize,
        scheduled: usize,
        encoding: Encoding,
    ) -> Result<Self, ParamError> {
        Ok(Self {
            kind,
            window: WindowParams::new(slots, retire_ports)?,
            upstream: UpstreamParams::new(slots, scheduled, encoding)?,
        })
    }

    /// Matrix or list.
    pub fn kind(self) -> WindowKind {
        self.kind
    }

    /// The window's parameters.
    pub fn window(self) -> WindowParams {
        self.window
    }

    /// The upstream load module's parameters.
    pub fn upstream(self) -> UpstreamParams {
        self.upstream
    }
}

/// Bits of a slot number in a window of `slots`: `ceil(log2(slots))`.
pub fn slot_bits(slots: usize) -> usize {
    slots.next_power_of_two().trailing_zeros() as usize
}

pub(crate) fn in_range(
    parameter: &'static str,
    got: usize,
    range: std::ops::RangeInclusive<usize>,
) -> Result<(), ParamError> {
    if range.contains(&got) {
        Ok(())
    } else {
        Err(ParamError::OutOfRange { parameter, got, min: *range.start(), max: *range.end() })
    }
}

pub(crate) fn compiled_in(parameter: &'static str, got: usize, possible: &[usize]) -> Result<(), ParamError> {
    if possible.contains(&got) {
        Ok(())
    } else {
        let possible = possible.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        Err(ParamError::NotCompiledIn { parameter, got, possible })
    }
}
