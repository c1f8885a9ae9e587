//! The `placet` binary.

fn main() {}
