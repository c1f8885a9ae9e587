//! The approval mode `allowAll` as a component.

placet_modes::export_mode!(placet_modes::allow_all);
