//! Real hosts: `placet serve` processes on a home, clients on their pipes and sockets,
//! and what lies in the home afterwards. Shared by the fault tests and the torturer.
//!
//! What goes wrong here is a failed test, so it is told by a panic.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

pub mod client;
pub mod place;
pub mod processes;
pub mod steps;
pub mod told;
