//! Everything a developer of Placet runs.

fn main() {}
