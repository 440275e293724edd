//! What the bytes mean: HTTP clients without sockets or clocks.
