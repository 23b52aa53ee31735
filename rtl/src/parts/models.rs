//! Golden models of the pickers.
