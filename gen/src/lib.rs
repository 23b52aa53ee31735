//! Placeholder
pub mod tools;
