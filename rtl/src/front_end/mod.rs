#![doc = include_str!("README.md")]

pub mod io;
pub mod model;

pub use io::{
    Counter, CtaDone, CtaNeeds, CtaOut, CtaType, FrontEndIn, FrontEndOut, FrontEndPorts, Launch,
    MAX_CTA_CHANNELS, PartitionWrite,
};
pub use model::FrontEndModel;
