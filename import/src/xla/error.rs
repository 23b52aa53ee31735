//! What can be wrong with a dump, and what is doubtful about what was read from it.

use crate::FileError;
use crate::located::{self, Located, LocatedErrors};
use std::{fmt, io};
use thiserror::Error;

/// One thing wrong in a dump, and where.
pub type XlaError = Located<Problem>;

/// Everything wrong in a dump, as far as reading could go on; never empty.
pub type XlaErrors = LocatedErrors<Problem>;

/// What is wrong, with the values that are.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The directory cannot be read.
    #[error("{0}; give the directory that XLA_FLAGS=--xla_dump_to=DIR named")]
    Io(io::Error),
    /// A file was not read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Bytes that are no text.
    #[error("byte {at} is not UTF-8; XLA's dumps are text, dump again")]
    NotUtf8 {
        /// Position in the file, from 1.
        at: usize,
    },
    /// No GPU module in the directory.
    #[error(
        "no *.thunk_sequence.txt; compile on the GPU backend with XLA_FLAGS=--xla_dump_to=DIR (and, where JAX's compilation cache is on, an empty \
         one: what comes from it is not compiled and leaves no dump)"
    )]
    NoModule,
    /// A module that is not there, or a name that several modules have.
    #[error("{found} modules are `{name}`; choose one with --module: {possible}")]
    WhichModule {
        /// What was asked.
        name: String,
        /// How many have that name.
        found: usize,
        /// Those of the directory, or of that name.
        possible: String,
    },
    /// A file of a module that is not there.
    #[error("no {pattern}, which {holds}; dump again with a JAX or XLA that writes it (seen with JAX 0.10)")]
    NoFile {
        /// How it is called.
        pattern: String,
        /// Why it is needed.
        holds: &'static str,
    },
    /// A line that is not as XLA writes it.
    #[error(
        "found `{found}` instead of {expected}; the file is cut short or from another version of XLA, so dump again"
    )]
    Line {
        /// How the line begins.
        found: String,
        /// What should be there.
        expected: &'static str,
    },
    /// A file in which nothing is of what it is read for.
    #[error("the file has no {what}; it is cut short or from another version of XLA, so dump again")]
    Nothing {
        /// What was looked for.
        what: &'static str,
    },
    /// Loops or branches in one another past the limit.
    #[error("thunks are nested more than {limit} deep; the file is damaged, dump again")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// A thunk that launches a kernel, with a launch that no GPU takes.
    #[error(
        "the grid, threads or shared memory of `{name}` are not those of a launch: dimensions must be 1 to {}, and their product below 2^64; dump again",
        u32::MAX
    )]
    Launch {
        /// The kernel.
        name: String,
    },
    /// A loop that ends when its condition says, after nobody knows how many rounds.
    #[error("`{name}` has no known_trip_count; say with --trip-count N how many rounds such loops take")]
    NoTripCount {
        /// The `while` instruction.
        name: String,
    },
    /// A loop whose instruction is not among those of the module.
    #[error("`{name}` is not in {file}, which is cut short or of another module; dump again")]
    NotInHlo {
        /// What the thunk's metadata calls it.
        name: String,
        /// The file with the instructions.
        file: String,
    },
    /// More kernels than an import makes.
    #[error(
        "with its loops unrolled, the module has {kernels} kernels and waits, but {limit} is the limit; let loops end sooner with --max-trip-count N"
    )]
    TooManyKernels {
        /// How many it would be.
        kernels: u64,
        /// How many may be.
        limit: u64,
    },
    /// Allocations that together leave the address space of a trace.
    #[error("the allocations reach past 2^53; the file is damaged, dump again")]
    PastAddressLimit,
}

pub(super) type Collected = located::Collected<Problem>;

impl Collected {
    pub(super) fn line(&mut self, file: &str, line: usize, found: &str, expected: &'static str) {
        let found = found.trim().chars().take(60).collect();
        self.push(file, line, Problem::Line { found, expected });
    }
}

/// Something that was read, but on an assumption.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The directory has several modules, and nobody said which.
    OtherModules {
        /// The one that was taken: it has the longest thunk sequence.
        taken: String,
        /// All others.
        others: Vec<String>,
    },
    /// The dump does not say which GPU it was compiled for.
    NoGpu {
        /// What it does say: the compute capability, such as `8.6`.
        capability: Option<String>,
    },
    /// The dump was compiled for another GPU than the user says.
    OtherGpu {
        /// As the user says.
        name: String,
        /// As the dump says.
        dump: String,
    },
    /// A kind of thunk that this reader does not know.
    UnknownKind {
        /// Such as `kAllReduceStart`.
        kind: String,
        /// How many of them, with loops counted once.
        thunks: usize,
        /// Whether there is no instruction for some of them, so that the host waits there instead.
        waits: bool,
    },
    /// Thunks of the metadata that the sequence does not have.
    MissingThunks {
        /// The instruction of the first.
        name: String,
        /// How many.
        thunks: usize,
    },
    /// Kernels whose memory the buffer assignment does not name: they read and write all of it.
    UnknownMemory {
        /// One of them.
        name: String,
        /// How many.
        thunks: usize,
    },
    /// A loop without a known trip count, and the rounds that it got.
    AssumedTrips {
        /// The `while` instruction.
        name: String,
        /// Rounds.
        trips: u64,
    },
    /// A loop that was cut short.
    CutTrips {
        /// The `while` instruction.
        name: String,
        /// Rounds that it has.
        known: u64,
        /// Rounds that it got.
        trips: u64,
    },
    /// A conditional: one of its branches was taken, the one with most kernels.
    Branch {
        /// The `conditional` instruction.
        name: String,
        /// Branches.
        branches: usize,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherModules { taken, others } => {
                let first: Vec<&str> = others.iter().take(8).map(String::as_str).collect();
                let more = if others.len() > first.len() { ", .." } else { "" };
                write!(
                    f,
                    "{taken} is imported, because its thunk sequence is the longest; --module NAME chooses another: {}{more}",
                    first.join(", ")
                )
            }
            Self::NoGpu { capability: Some(capability) } => {
                write!(
                    f,
                    "the dump names no GPU, only compute capability {capability}; name the GPU with --gpu NAME"
                )
            }
            Self::NoGpu { capability: None } => write!(f, "the dump names no GPU; name it with --gpu NAME"),
            Self::OtherGpu { name, dump } => write!(
                f,
                "the module was compiled for {dump}, but the trace names {name}, as --gpu does; grids and tiles are those for {dump}"
            ),
            Self::UnknownKind { kind, thunks, waits } => {
                let what = if *waits {
                    "where there is no instruction for one, the host waits in its place"
                } else {
                    "each is one COPY kernel with the memory of its instruction, its launch an estimate"
                };
                write!(f, "{thunks} thunks of kind {kind}, which is not known here: {what}")
            }
            Self::MissingThunks { name, thunks } => write!(
                f,
                "{thunks} thunks such as `{name}` are in the metadata but not in the sequence, which may be cut: they are not in the trace"
            ),
            Self::UnknownMemory { name, thunks } => write!(
                f,
                "{thunks} thunks such as `{name}` have operands or results without a buffer: they read and write all memory, which keeps their order"
            ),
            Self::AssumedTrips { name, trips } => {
                write!(f, "`{name}` has no known trip count: {trips} rounds, as --trip-count says")
            }
            Self::CutTrips { name, known, trips } => {
                write!(f, "`{name}` takes {known} rounds, but {trips} are imported, as --max-trip-count says")
            }
            Self::Branch { name, branches } => write!(
                f,
                "`{name}` chooses one of {branches} branches as it runs: the one with most kernels is imported"
            ),
        }
    }
}
