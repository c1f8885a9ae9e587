//! The approval mode `promptUnmatched` as a component.

placet_modes::export_mode!(placet_modes::prompt_unmatched);
