#![doc = include_str!("README.md")]

pub mod io;

pub use io::{
    Counter, CtaDone, CtaNeeds, CtaOut, CtaType, FrontEndIn, FrontEndOut, Launch, MAX_CTA_CHANNELS, PartitionWrite,
};
