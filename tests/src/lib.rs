//! What the tests of Placet share: two runners of the evaluator, a small host
//! that keeps a log in memory, a text form for scenarios, and a generator.
//!
//! Read `evaluator` for the trait that both runners have, `session` for the
//! host and the invariants that it checks after every step, `script` for how a
//! scenario is written; `live` for real hosts, `torture` for what kills them.

pub mod brackets;
pub mod component;
pub mod erasure;
pub mod evaluator;
pub mod generate;
pub mod invariants;
pub mod live;
pub mod native;
pub mod oracle;
pub mod pair;
pub mod random;
pub mod rules;
pub mod script;
pub mod session;
pub mod targets;
pub mod torture;
pub mod transcript;
pub mod vectors;
