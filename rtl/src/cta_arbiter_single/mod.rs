#![doc = include_str!("README.md")]

pub use crate::cta_arbiter_typed::CtaArbiter;
