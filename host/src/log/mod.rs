//! The durable record log behind an async trait.
