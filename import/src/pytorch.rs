//! PyTorch: an execution trace, and with it what its profiler saw on a GPU.
