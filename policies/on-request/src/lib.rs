//! The approval mode `onRequest` as a component.

placet_modes::export_mode!(placet_modes::on_request);
