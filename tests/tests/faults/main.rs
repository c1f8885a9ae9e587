//! What survives a crash: fault points, receipts, leases and a client that is gone.
//!
//! Real `placet serve` processes are ended at every boundary that the log and the
//! output pipe pass, and a fresh host on the same home is held to what the ended
//! one said. The checker itself is checked by a log that lies.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod aftermath;
mod deaf;
mod hosts;
mod idle;
mod lying;
mod matrix;
mod own;
mod protected;
mod receipts;
mod replays;
mod seeded;

use placet_tests::live::{client, place, processes, steps, told};
