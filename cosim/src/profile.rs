//! Device profiles: what a GPU has per SM, how fast its pipes are, and what its host costs.
//!
//! A profile is a TOML file; six are embedded. Where each number comes from is a comment in the file.

mod fields;

use serde::{Deserialize, Serialize};
use std::path::Path;
use thiserror::Error;
use windlass_rtl::params::{self, ParamError, SmParams};
use windlass_runtime::run::Costs;

/// The embedded profiles: name and text.
const EMBEDDED: [(&str, &str); 6] = [
    ("rtx3060", include_str!("../profiles/rtx3060.toml")),
    ("rtx3070", include_str!("../profiles/rtx3070.toml")),
    ("rtx4090", include_str!("../profiles/rtx4090.toml")),
    ("a100", include_str!("../profiles/a100.toml")),
    ("h100", include_str!("../profiles/h100.toml")),
    ("h200", include_str!("../profiles/h200.toml")),
];

/// Why a device profile cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// Neither an embedded profile nor a file.
    #[error("there is no profile `{name}`; embedded: {possible}; or give the path of a TOML file")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The embedded profiles.
        possible: String,
    },
    /// The file could not be read.
    #[error("{file}: {message}; embedded profiles: {possible}")]
    Read {
        /// The file.
        file: String,
        /// What the system said.
        message: String,
        /// The embedded profiles.
        possible: String,
    },
    /// The file is no profile, or not one that works: all that is wrong in it, in its order.
    #[error("{}", .0.iter().map(FieldError::to_string).collect::<Vec<_>>().join("\n"))]
    Fields(Vec<FieldError>),
    /// Hardware for such SMs cannot be built.
    #[error(transparent)]
    Hardware(ParamError),
}

/// Something wrong in a profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}{}: {}{problem}", line.map_or_else(String::new, |line| format!(":{line}")), named(field))]
pub struct FieldError {
    /// The file, or the profile's name.
    pub file: String,
    /// The line from 1, where the profile came from a file.
    pub line: Option<usize>,
    /// The field, with its table; empty where the file is no TOML.
    pub field: String,
    /// What is wrong with it.
    pub problem: FieldProblem,
}

fn named(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("`{field}` ") }
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FieldProblem {
    /// The file is no TOML.
    #[error("{0}; a profile is a TOML file, one `field = number` per line")]
    Syntax(String),
    /// The field must be there.
    #[error("is missing; add it: {expected}")]
    Missing {
        /// What it should hold.
        expected: &'static str,
    },
    /// There is no such field.
    #[error("is not a field here; possible: {}", possible.join(", "))]
    Unknown {
        /// The fields that there are.
        possible: Vec<String>,
    },
    /// It is no whole number.
    #[error("is {got}, but must be a whole number, {expected}")]
    NotWhole {
        /// What it is.
        got: String,
        /// What would work.
        expected: &'static str,
    },
    /// The value makes no sense.
    #[error("is {got}, but must be {expected}")]
    Value {
        /// What it is.
        got: String,
        /// What would work.
        expected: &'static str,
    },
}

/// A GPU and its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name as on the command line.
    pub name: String,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// SM clock in MHz; the scheduler runs on it too, where nobody gives it another.
    pub clock_mhz: u32,
    /// The clock of [`Self::pipes`], where time is counted in another's cycles: see [`Self::counted_at`]. No file has it.
    #[serde(skip)]
    pub pipes_mhz: Option<u32>,
    /// Memory bandwidth in bytes per second.
    pub memory_bytes_per_s: u64,
    /// Memory in bytes, where it is known: nothing but a warning comes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The least time that any CTA takes, in nanoseconds.
    pub cta_floor_ns: u64,
    /// Bytes that one thread moves in a microsecond, at most: what it has on its way over how long memory takes. No bound where it is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_bytes_per_us: Option<u64>,
    /// What one SM has.
    pub sm: SmResources,
    /// What one SM does.
    pub pipes: Pipes,
    /// What the host costs.
    pub host: HostLatencies,
    /// What streams and events cost where `windlass calibrate` has measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Costs>,
}

/// What one SM has for its resident CTAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmResources {
    /// CTAs.
    pub ctas: u32,
    /// Warps of 32 threads.
    pub warps: u32,
    /// Threads.
    pub threads: u32,
    /// Threads of one CTA, at most.
    pub threads_per_cta: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// Registers are given to a warp in multiples of this.
    pub register_unit: u32,
    /// Registers per thread where the trace does not say.
    pub default_registers: u32,
    /// Shared memory in bytes.
    pub smem_bytes: u32,
    /// Shared memory is given to a CTA in multiples of this many bytes.
    pub smem_unit: u32,
    /// Bytes of shared memory that each CTA takes beyond its own.
    pub smem_reserved: u32,
}

/// Throughput of one SM's pipes, in floating-point operations per clock (two per multiply-add).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipes {
    /// Ordinary lanes.
    pub simt_flop_per_clk: u32,
    /// Matrix units.
    pub tensor_flop_per_clk: u32,
}

/// What the host costs, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostLatencies {
    /// Host time of one kernel launch through the driver.
    pub launch_ns: u64,
    /// End of a kernel to the return of the host's synchronisation.
    pub synchronise_ns: u64,
    /// End of a kernel to a host thread that polls its event.
    pub event_wait_ns: u64,
    /// End of a kernel to the start of the next in its stream.
    pub stream_gap_ns: u64,
    /// Host time to build and instantiate one graph node.
    pub graph_node_ns: u64,
    /// Launch of a graph to the start of its first kernels.
    pub graph_launch_ns: u64,
    /// End of a kernel to the start of one that depends on it in a graph.
    pub graph_edge_ns: u64,
    /// Host time to find one kernel's upstream.
    pub hazard_check_ns: u64,
    /// Host time to write one launch packet for the scheduling hardware.
    pub packet_ns: u64,
    /// A packet's way from host to device.
    pub transfer_ns: u64,
    /// A completion's way from device to host.
    pub notice_ns: u64,
}

impl HostLatencies {
    /// A host that costs nothing.
    pub const FREE: Self = Self {
        launch_ns: 0,
        synchronise_ns: 0,
        event_wait_ns: 0,
        stream_gap_ns: 0,
        graph_node_ns: 0,
        graph_launch_ns: 0,
        graph_edge_ns: 0,
        hazard_check_ns: 0,
        packet_ns: 0,
        transfer_ns: 0,
        notice_ns: 0,
    };
}

impl Profile {
    /// Names of the embedded profiles, small to large.
    pub fn names() -> Vec<&'static str> {
        EMBEDDED.iter().map(|(name, _)| *name).collect()
    }

    /// The name of the embedded profile that is nearest to the GPU which NVIDIA's driver calls so: of a variant (`RTX 3070 Ti`) its
    /// relative's, where [`Self::of_gpu`] knows none.
    pub fn of_device(device: &str) -> Option<&'static str> {
        let words: Vec<String> =
            device.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
        let is_it = |name: &&str| {
            words.iter().any(|word| word == *name) || words.windows(2).any(|two| two.concat() == **name)
        };
        Self::names().into_iter().find(is_it)
    }

    /// The embedded profile of the GPU of that name, as people and drivers write it: `RTX 3070`, `NVIDIA GeForce RTX 3070`,
    /// `NVIDIA H100 80GB HBM3`. Relatives of another size (`RTX 3070 Ti`, `H100 PCIe`) are other GPUs.
    pub fn of_gpu(gpu: &str) -> Option<Self> {
        let (name, text) = EMBEDDED.iter().find(|(name, _)| *name == plain(gpu))?;
        Self::parse(text, name).ok()
    }

    /// Whether it is a profile of the GPU of that name, `windlass calibrate`'s included.
    pub fn is_of(&self, gpu: &str) -> bool {
        plain(self.name.strip_suffix("-calibrated").unwrap_or(&self.name)) == plain(gpu)
    }

    /// The embedded profile of that name, or else the file at that path.
    pub fn load(name_or_path: &str) -> Result<Self, ProfileError> {
        if let Some((name, text)) = EMBEDDED.iter().find(|(name, _)| *name == name_or_path) {
            return Self::parse(text, name);
        }
        let possible = Self::names().join(", ");
        let path = Path::new(name_or_path);
        if !name_or_path.ends_with(".toml") && !path.exists() {
            return Err(ProfileError::Unknown { name: name_or_path.into(), possible });
        }
        let text = std::fs::read_to_string(path).map_err(|error| ProfileError::Read {
            file: name_or_path.into(),
            message: error.to_string(),
            possible,
        })?;
        Self::parse(&text, name_or_path)
    }

    /// Reads and checks a profile; `file` is what errors call it.
    ///
    /// # Errors
    /// All that is wrong in it.
    pub fn parse(text: &str, file: &str) -> Result<Self, ProfileError> {
        let errors = fields::read(text, file);
        if !errors.is_empty() {
            return Err(ProfileError::Fields(errors));
        }
        toml::from_str(text).map_err(|error| {
            // `fields` knows all that serde does, as its test says; if it ever does not, this is better than a panic.
            let (file, line) = (file.to_string(), None);
            let problem = FieldProblem::Syntax(error.message().to_string());
            ProfileError::Fields(vec![FieldError { file, line, field: String::new(), problem }])
        })
    }

    /// Checks every field whose value could not work; `file` is what errors call the profile.
    ///
    /// # Errors
    /// All of them.
    pub fn check(&self, file: &str) -> Result<(), ProfileError> {
        let errors = fields::check(&serde_json::to_value(self).unwrap_or_default(), file);
        if errors.is_empty() { Ok(()) } else { Err(ProfileError::Fields(errors)) }
    }

    /// The SMs as the front end's hardware counts them: registers and shared memory in allocation units.
    ///
    /// # Errors
    /// A field beyond what the hardware can count, and fewer threads than warps have: it does not count threads.
    pub fn sm_params(&self) -> Result<SmParams, ProfileError> {
        let sm = &self.sm;
        let (registers, smem) = (sm.registers / sm.register_unit.max(1), sm.smem_bytes / sm.smem_unit.max(1));
        let wrong = [
            ("sms", self.sms, (1..=192).contains(&self.sms), "1 to 192 for the front end's hardware"),
            ("sm.ctas", sm.ctas, (1..=32).contains(&sm.ctas), "1 to 32 for the front end's hardware"),
            ("sm.warps", sm.warps, (1..=64).contains(&sm.warps), "1 to 64 for the front end's hardware"),
            (
                "sm.threads",
                sm.threads,
                u64::from(sm.threads) >= 32 * u64::from(sm.warps),
                "32 times `sm.warps`: the front end's hardware counts warps, not threads",
            ),
            (
                "sm.registers",
                sm.registers,
                (1..=256).contains(&registers),
                "1 to 256 times `sm.register_unit` for the front end's hardware",
            ),
            (
                "sm.smem_bytes",
                sm.smem_bytes,
                (1..=2047).contains(&smem),
                "1 to 2047 times `sm.smem_unit` for the front end's hardware",
            ),
        ];
        let wrong: Vec<FieldError> = wrong
            .into_iter()
            .filter(|(.., possible, _)| !possible)
            .map(|(field, value, _, expected)| FieldError {
                file: self.name.clone(),
                line: None,
                field: field.into(),
                problem: FieldProblem::Value { got: value.to_string(), expected },
            })
            .collect();
        if !wrong.is_empty() {
            return Err(ProfileError::Fields(wrong));
        }
        let usize = |n: u32| n as usize;
        params::SmLimits::new(usize(sm.ctas), usize(sm.warps), usize(registers), usize(smem))
            .and_then(|limits| SmParams::new(usize(self.sms), limits))
            .map_err(ProfileError::Hardware)
    }

    /// The same GPU with its time counted in cycles of another clock: SMs do as much in a second as before.
    pub fn counted_at(&self, mhz: u32) -> Self {
        let pipes_mhz = Some(self.pipes_mhz()).filter(|pipes| *pipes != mhz);
        Self { clock_mhz: mhz, pipes_mhz, ..self.clone() }
    }

    /// The clock that [`Self::pipes`] count by, in MHz.
    pub fn pipes_mhz(&self) -> u32 {
        self.pipes_mhz.unwrap_or(self.clock_mhz)
    }

    /// SM clock cycles in `ns` nanoseconds, rounded up.
    pub fn cycles(&self, ns: u64) -> u64 {
        saturate((u128::from(ns) * u128::from(self.clock_mhz)).div_ceil(1000))
    }

    /// Microseconds in `cycles`.
    pub fn micros(&self, cycles: u64) -> f64 {
        cycles as f64 / f64::from(self.clock_mhz)
    }
}

/// A GPU's name without what makes no difference: maker, case, spaces and dashes, and what a driver adds to the name of
/// the very chips and memories that the embedded profiles are of.
fn plain(gpu: &str) -> String {
    let lower = gpu.to_ascii_lowercase();
    // A recording of the runtime says `GPU, 8 streams`.
    let name = lower.split(',').next().unwrap_or_default();
    let words = name.split([' ', '-', '_']).filter(|word| !["nvidia", "geforce", ""].contains(word));
    match words.collect::<String>() {
        name if name == "a100sxm440gb" => "a100".into(),
        name if name == "h10080gbhbm3" => "h100".into(),
        name => name,
    }
}

/// The value, or the largest `u64` where it is larger.
pub(crate) fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
