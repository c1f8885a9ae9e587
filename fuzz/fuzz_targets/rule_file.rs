//! `cargo +nightly fuzz run rule_file`: any bytes, see `tests/src/targets.rs`.

#![no_main]

#[path = "../../tests/src/targets.rs"]
#[allow(dead_code, unreachable_pub, reason = "each target uses one of them")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::rule_file(data));
