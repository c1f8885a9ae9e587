//! The oracle: what ran is what was shown.
//!
//! A command runs in real bash, in a sandbox that holds nothing but bash and
//! stubs which record how they were started ([`sandbox`]); every start must be
//! covered by a stage that the parser shows ([`cover`]).

pub mod check;
pub mod corpus;
pub mod cover;
pub mod frame;
pub mod generate;
pub mod minimize;
pub mod names;
pub mod places;
pub mod sandbox;
pub mod trace;
