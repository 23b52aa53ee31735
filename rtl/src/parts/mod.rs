//! The small parts that the blocks are built from.

mod close_up;
mod count_down;
mod find_first;
mod from_first;
mod number;
mod oldest_first;
mod register;
mod register_file;
mod round_robin;

pub use close_up::CloseUp;
pub use count_down::CountDown;
pub use find_first::FindFirst;
pub use from_first::FromFirst;
pub use number::{bank, number, numbers, table};
pub use oldest_first::OldestFirst;
pub use register::{PayloadRegister, Register};
pub use register_file::RegisterFile;
pub use round_robin::{RoundRobin, RoundRobinGroup};

pub mod models;
