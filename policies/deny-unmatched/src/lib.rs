//! The approval mode `denyUnmatched` as a component.

placet_modes::export_mode!(placet_modes::deny_unmatched);
