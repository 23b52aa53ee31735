//! Placeholder
pub mod cache;
pub mod report;
pub mod tools;
