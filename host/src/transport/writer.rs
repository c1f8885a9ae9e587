//! One ordered writer for each connection.
//!
//! When the other side is gone the writer goes on taking frames and drops them:
//! an orderly stop must reach the log even when nobody reads any more.

use super::trace::Trace;
use crate::log::Faults;
use std::sync::Arc;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// Writes frames in order until the last sender is gone.
pub(super) async fn write<W: AsyncWrite + Unpin>(
    mut output: W,
    mut frames: mpsc::UnboundedReceiver<String>,
    faults: Arc<Faults>,
    trace: Arc<Trace>,
) {
    let mut open = true;
    while let Some(mut frame) = frames.recv().await {
        if !open {
            continue;
        }
        faults.hit("pipe-before-write");
        trace.sent(&frame);
        frame.push('\n');
        let written = async {
            output.write_all(frame.as_bytes()).await?;
            output.flush().await
        };
        open = written.await.is_ok();
        faults.hit("pipe-after-write");
    }
}
