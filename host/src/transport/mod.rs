//! The wire: MSP as JSON-RPC over lines of JSON.
//!
//! Only this module knows JSON-RPC. It turns frames into orders for the
//! sessions, and what they tell back into frames. A policy, a menu or a mode
//! means nothing here.

mod connection;
mod frames;
mod methods;
mod oversized;
mod params;
mod peer;
mod reader;
mod socket;
mod trace;
mod writer;

pub use connection::{Listener, serve, serve_beside};
pub(crate) use reader::{Line, LineReader};
pub use socket::{Socket, connect};
