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

/// The same for a front end.
pub const FRONT_END_MASK: [usize; 2] = [32, 128];

/// SMs that a dispatcher can have.
pub const SM_COUNTS: std::ops::RangeInclusive<usize> = 1..=192;

/// Slices of an SM array: in each cycle one of them is looked at, so that each SM is looked at every third cycle.
pub const SLICES: usize = 3;

/// SMs at which the tests and measurements are made: those of real GPUs, small to large.
pub const SM_SIZES: [usize; 10] = [8, 16, 28, 46, 64, 108, 128, 132, 144, 192];

/// Channels on which CTA completions come in; channel p is that of the SMs s with s mod 4 = p.
pub const DONE_PORTS: usize = 4;

/// Requests of a round robin that are compiled in: window slots, or SMs of real GPUs.
pub const ROUND_ROBIN_REQUESTS: [usize; 15] = [4, 8, 16, 24, 28, 32, 46, 48, 64, 96, 108, 128, 132, 144, 192];

/// SM partitions.
pub const PARTITIONS: usize = 8;

/// Kernels of one type whose CTAs are placed at the same time.
pub const ACTIVE_KERNELS: [usize; 3] = [1, 2, 4];

/// CTAs of one kernel that are placed in one cycle.
pub const PLACES: [usize; 3] = [1, 2, 4];

/// The most of them.
pub const MAX_PLACES: usize = PLACES[PLACES.len() - 1];

/// A parameter that cannot be built, with what can.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParamError {
    /// The size is not among those compiled in.
    #[error("--{parameter} {got} is not compiled in; possible: {possible}")]
    NotCompiledIn {
        /// The parameter's name as on the command line.
        parameter: &'static str,
        /// The value asked for.
        got: usize,
        /// What would work.
        possible: String,
    },
    /// The value is outside its range.
    #[error("--{parameter} {got} is outside {min}..={max}; choose a number in that range")]
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

/// Parameter of a picker but the round robin: how many requests it has.
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

/// Parameter of a round robin, which has sizes that the other pickers do not: how many requests it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoundRobinParams(usize);

impl RoundRobinParams {
    /// Checks `requests` against [`ROUND_ROBIN_REQUESTS`].
    pub fn new(requests: usize) -> Result<Self, ParamError> {
        compiled_in("slots", requests, &ROUND_ROBIN_REQUESTS)?;
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
    pipelined: bool,
}

impl WindowParams {
    /// Checks `slots` against [`WINDOW_SLOTS`] and `retire_ports` against [`RETIRE_PORTS`].
    pub fn new(slots: usize, retire_ports: usize) -> Result<Self, ParamError> {
        compiled_in("slots", slots, &WINDOW_SLOTS)?;
        in_range("retire-ports", retire_ports, RETIRE_PORTS)?;
        Ok(Self { slots, retire_ports, pipelined: false })
    }

    /// Number N of slots.
    pub fn slots(self) -> usize {
        self.slots
    }

    /// Number R of retire ports.
    pub fn retire_ports(self) -> usize {
        self.retire_ports
    }

    /// The same with one pipeline stage more, or without: a matrix window then offers a kernel a cycle later, at a higher clock.
    #[must_use]
    pub fn with_pipeline(self, pipelined: bool) -> Self {
        Self { pipelined, ..self }
    }

    /// One pipeline stage more.
    pub fn pipelined(self) -> bool {
        self.pipelined
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

    /// The same scheduler with one pipeline stage more in its window, or without; only the matrix window has it.
    pub fn with_pipeline(self, pipelined: bool) -> Result<Self, ParamError> {
        if pipelined && self.kind != WindowKind::Matrix {
            return Err(ParamError::NoSuchParameter {
                block: format!("a {} window", self.kind.name()),
                parameter: "pipelined",
                possible: "slots, retire-ports".into(),
            });
        }
        Ok(Self { window: self.window.with_pipeline(pipelined), ..self })
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

/// What one SM has: hardware counts it in these units, and so must whoever writes launch packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SmLimits {
    ctas: u16,
    warps: u16,
    registers: u16,
    smem: u16,
}

impl SmLimits {
    /// Limits of an SM of compute capability 9.0: 32 CTAs, 64 warps, 256 units of 256 registers, 1824 units of 128 bytes.
    pub const H100: Self = Self { ctas: 32, warps: 64, registers: 256, smem: 1824 };

    /// CTA slots (1 to 32), warps (1 to 64), register units (1 to 256), shared memory units (1 to 2047).
    pub fn new(ctas: usize, warps: usize, registers: usize, smem: usize) -> Result<Self, ParamError> {
        in_range("sm-ctas", ctas, 1..=32)?;
        in_range("sm-warps", warps, 1..=64)?;
        in_range("sm-registers", registers, 1..=256)?;
        in_range("sm-smem", smem, 1..=2047)?;
        Ok(Self { ctas: ctas as u16, warps: warps as u16, registers: registers as u16, smem: smem as u16 })
    }

    /// CTA slots.
    pub fn ctas(self) -> u16 {
        self.ctas
    }

    /// Warps.
    pub fn warps(self) -> u16 {
        self.warps
    }

    /// Register units.
    pub fn registers(self) -> u16 {
        self.registers
    }

    /// Shared memory units.
    pub fn smem(self) -> u16 {
        self.smem
    }
}

/// An array of SMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SmParams {
    sms: usize,
    limits: SmLimits,
    holds: bool,
}

impl SmParams {
    /// Checks `sms` against [`SM_COUNTS`].
    pub fn new(sms: usize, limits: SmLimits) -> Result<Self, ParamError> {
        in_range("sms", sms, SM_COUNTS)?;
        Ok(Self { sms, limits, holds: false })
    }

    /// Number S of SMs.
    pub fn sms(self) -> usize {
        self.sms
    }

    /// What each has.
    pub fn limits(self) -> SmLimits {
        self.limits
    }

    /// The same with slices that stand still while no CTA is looked at and no completion is kept, or with slices that always go round.
    #[must_use]
    pub fn with_hold(self, holds: bool) -> Self {
        Self { holds, ..self }
    }

    /// The slices stand still while nothing is asked of them.
    pub fn holds(self) -> bool {
        self.holds
    }

    /// Lanes: SM s is in lane `4 (s / 12) + s mod 4` and slice `s mod 3`. So each lane has the SMs of one completion port, and 12
    /// SMs fill four lanes.
    pub fn lanes(self) -> usize {
        let turn = DONE_PORTS * SLICES;
        self.sms / turn * DONE_PORTS + (self.sms % turn).min(DONE_PORTS)
    }

    /// Of the SMs s with s mod `places` = `bank`, a bit for each slice that has one SM less than another slice of any bank: 0 where the
    /// number of SMs is a multiple of 3 `places`.
    pub fn short_slices(self, places: usize, bank: usize) -> u128 {
        let turn = SLICES * places;
        let short = |j: &usize| {
            let first = (0..turn).find(|sm| sm % places == bank && sm % SLICES == *j);
            !self.sms.is_multiple_of(turn) && first.is_some_and(|sm| sm >= self.sms % turn)
        };
        (0..SLICES).filter(short).fold(0, |bits, j| bits | 1 << j)
    }

    /// The lane of an SM.
    pub fn lane(sm: usize) -> usize {
        sm / (DONE_PORTS * SLICES) * DONE_PORTS + sm % DONE_PORTS
    }

    /// The SM in a lane of a slice; there may be none with that number.
    pub fn sm(lane: usize, slice: usize) -> usize {
        let (quad, port) = (lane / DONE_PORTS, lane % DONE_PORTS);
        // Of the three SMs of a lane, the one whose number mod 3 is the slice's.
        DONE_PORTS * (SLICES * quad + (slice + SLICES * DONE_PORTS - port) % SLICES) + port
    }
}

/// How CTAs are given to SMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArbiterKind {
    /// Today's: one arbiter, one kernel at a time, head of line.
    Single,
    /// Kitsune's: one arbiter per CTA type.
    Typed {
        /// Kernels of one type whose CTAs are placed at the same time.
        active: usize,
    },
}

/// Kinds of CTA that the SM array looks at in one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requesters {
    /// CTAs of one kernel.
    One,
    /// CTAs of a SIMT and of a TENSOR kernel.
    Two,
}

impl Requesters {
    /// 1 or 2.
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

impl ArbiterKind {
    /// The name on the command line and in module names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Typed { .. } => "typed",
        }
    }

    /// CTA channels, and queues of kernels: one, or one per type.
    pub fn channels(self) -> usize {
        self.requesters().count()
    }

    /// Kinds of CTA that ask the SM array in one cycle.
    pub fn requesters(self) -> Requesters {
        match self {
            Self::Single => Requesters::One,
            Self::Typed { .. } => Requesters::Two,
        }
    }

    /// Kernels per channel whose CTAs are placed at the same time.
    pub fn active(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Typed { active } => active,
        }
    }
}

/// Parameters of a CTA arbiter, or of arbiter and SM array together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DispatchParams {
    arbiter: ArbiterKind,
    places: usize,
    slots: usize,
    sms: SmParams,
}

impl DispatchParams {
    /// Checks the number of active kernels against [`ACTIVE_KERNELS`] and `slots` against [`WINDOW_SLOTS`].
    pub fn new(arbiter: ArbiterKind, slots: usize, sms: SmParams) -> Result<Self, ParamError> {
        if let ArbiterKind::Typed { active } = arbiter {
            compiled_in("active", active, &ACTIVE_KERNELS)?;
        }
        compiled_in("slots", slots, &WINDOW_SLOTS)?;
        Ok(Self { arbiter, places: 1, slots, sms })
    }

    /// The same with `places` CTAs per channel and cycle instead of one; one of [`PLACES`].
    pub fn with_places(self, places: usize) -> Result<Self, ParamError> {
        compiled_in("places", places, &PLACES)?;
        Ok(Self { places, ..self })
    }

    /// Single or typed.
    pub fn arbiter(self) -> ArbiterKind {
        self.arbiter
    }

    /// CTAs of one kernel that a channel places in one cycle, and CTA ports of each channel: port p is that of the SMs s with
    /// s mod `places` = p.
    pub fn places(self) -> usize {
        self.places
    }

    /// CTA ports of all channels; port p of channel c is number c * `places` + p.
    pub fn cta_ports(self) -> usize {
        self.arbiter.channels() * self.places
    }

    /// Number N of window slots, for slot numbers.
    pub fn slots(self) -> usize {
        self.slots
    }

    /// The SM array.
    pub fn sms(self) -> SmParams {
        self.sms
    }
}

/// Parameters of the table of kernels in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TableParams {
    slots: usize,
    retire_ports: usize,
    queues: usize,
}

impl TableParams {
    /// Checks `slots` against [`WINDOW_SLOTS`], `retire_ports` against [`RETIRE_PORTS`]; one queue for all types, or one for each.
    pub fn new(slots: usize, retire_ports: usize, queues: usize) -> Result<Self, ParamError> {
        compiled_in("slots", slots, &WINDOW_SLOTS)?;
        in_range("retire-ports", retire_ports, RETIRE_PORTS)?;
        in_range("queues", queues, 1..=2)?;
        Ok(Self { slots, retire_ports, queues })
    }

    /// Number N of entries.
    pub fn slots(self) -> usize {
        self.slots
    }

    /// Number R of retire ports.
    pub fn retire_ports(self) -> usize {
        self.retire_ports
    }

    /// Queues of kernels: one for all types, or one for each.
    pub fn queues(self) -> usize {
        self.queues
    }
}

/// Parameters of the whole front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrontEndParams {
    scheduler: SchedulerParams,
    dispatch: DispatchParams,
}

impl FrontEndParams {
    /// A front end of `scheduler` and a dispatcher for as many slots; with masks, M is one of [`FRONT_END_MASK`].
    pub fn new(scheduler: SchedulerParams, arbiter: ArbiterKind, sms: SmParams) -> Result<Self, ParamError> {
        let dispatch = DispatchParams::new(arbiter, scheduler.window().slots(), sms)?;
        Self::check_scheduled(scheduler.upstream().scheduled(), scheduler.upstream().encoding())?;
        Ok(Self { scheduler, dispatch })
    }

    /// With masks, M is one of [`FRONT_END_MASK`].
    pub fn check_scheduled(scheduled: usize, encoding: Encoding) -> Result<(), ParamError> {
        match encoding {
            Encoding::Mask => compiled_in("scheduled", scheduled, &FRONT_END_MASK),
            Encoding::Ids { .. } => Ok(()),
        }
    }

    /// The same with `places` CTAs per channel and cycle instead of one; one of [`PLACES`].
    pub fn with_places(self, places: usize) -> Result<Self, ParamError> {
        Ok(Self { dispatch: self.dispatch.with_places(places)?, ..self })
    }

    /// Upstream load and window.
    pub fn scheduler(self) -> SchedulerParams {
        self.scheduler
    }

    /// Arbiter and SM array.
    pub fn dispatch(self) -> DispatchParams {
        self.dispatch
    }

    /// The kernel table between them.
    pub fn table(self) -> TableParams {
        let window = self.scheduler.window();
        TableParams {
            slots: window.slots(),
            retire_ports: window.retire_ports(),
            queues: self.dispatch.arbiter.channels(),
        }
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
