#![doc = include_str!("README.md")]

mod counters;
mod dispatch;
mod hardware;
pub mod io;
pub mod model;

pub use counters::{Counters, SumCounter};
pub use dispatch::CtaDispatch;
pub use hardware::{ListIdsFrontEnd, ListMaskFrontEnd, MatrixIdsFrontEnd, MatrixMaskFrontEnd};
pub use io::{
    Counter, CtaDone, CtaNeeds, CtaOut, CtaType, FrontEndIn, FrontEndOut, FrontEndPorts, Launch,
    MAX_CTA_CHANNELS, MAX_CTA_PORTS, PartitionWrite,
};
pub use model::FrontEndModel;
