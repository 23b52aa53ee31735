//! What every crate of Windlass that writes files needs: files that appear whole or not at all, and where caches are.

pub mod cache;
pub mod new_file;
