//! What is wrong with a layer of rules: where, and what to do about it.

use super::Layer;
use crate::limits::RULE_FINDINGS_MAX;
use core::fmt;

/// Whether rules can still be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Something was not understood: a rule may be missing.
    Error,
    /// Everything was understood, and something looks like a mistake.
    Warning,
}

/// Something wrong with a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether rules can still be trusted.
    pub severity: Severity,
    /// The layer's name.
    pub layer: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The character in the line, counted from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { severity, layer, line, column, message, hint } = self;
        let severity = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{layer}:{line}:{column}: {severity}: {message}; {hint}")
    }
}

/// Findings in the making.
pub(crate) struct Findings<'a> {
    layers: &'a [Layer],
    /// At which bytes the lines of each layer begin.
    lines: Vec<Vec<usize>>,
    found: Vec<(u32, Finding)>,
    errors: usize,
    warnings: usize,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(layers: &'a [Layer]) -> Findings<'a> {
        let lines = layers
            .iter()
            .map(|layer| {
                let breaks = layer.text.match_indices('\n').map(|(at, _)| at + 1);
                core::iter::once(0).chain(breaks).collect()
            })
            .collect();
        Findings { layers, lines, found: Vec::new(), errors: 0, warnings: 0 }
    }

    /// The line of a byte in a layer.
    pub(crate) fn line(&self, layer: u32, at: usize) -> u32 {
        let starts = self.lines.get(layer as usize).map_or(&[][..], Vec::as_slice);
        u32::try_from(starts.partition_point(|start| *start <= at)).unwrap_or(u32::MAX).max(1)
    }

    fn column(&self, layer: u32, at: usize, line: u32) -> u32 {
        let starts = self.lines.get(layer as usize).map_or(&[][..], Vec::as_slice);
        let start = starts.get(line as usize - 1).copied().unwrap_or(0);
        let text = self.layers.get(layer as usize).map_or("", |layer| layer.text.as_str());
        let at = text.floor_char_boundary(at);
        let before = text.get(start..at).map_or(0, |before| before.chars().count());
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Something was not understood.
    pub(crate) fn error(
        &mut self,
        layer: u32,
        at: usize,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.errors += 1;
        if self.errors <= RULE_FINDINGS_MAX {
            self.add(Severity::Error, layer, at, message.into(), hint.into());
        }
    }

    /// Something looks like a mistake.
    pub(crate) fn warning(
        &mut self,
        layer: u32,
        at: usize,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.warnings += 1;
        if self.warnings <= RULE_FINDINGS_MAX {
            self.add(Severity::Warning, layer, at, message.into(), hint.into());
        }
    }

    fn add(&mut self, severity: Severity, number: u32, at: usize, message: String, hint: String) {
        let line = self.line(number, at);
        let column = self.column(number, at, line);
        let layer = self.layers.get(number as usize).map_or_else(String::new, |l| l.name.clone());
        self.found.push((number, Finding { severity, layer, line, column, message, hint }));
    }

    /// Whether no more warnings would be listed.
    pub(crate) fn enough_warnings(&self) -> bool {
        self.warnings >= RULE_FINDINGS_MAX
    }

    /// The findings in order, and the first error.
    pub(crate) fn finish(mut self) -> (Vec<Finding>, Option<Finding>) {
        self.found.sort_by_key(|(layer, finding)| (*layer, finding.line, finding.column));
        let mut findings: Vec<Finding> = self.found.into_iter().map(|(_, found)| found).collect();
        let broken = findings.iter().find(|found| found.severity == Severity::Error).cloned();
        let left_out = self.errors.saturating_sub(RULE_FINDINGS_MAX)
            + self.warnings.saturating_sub(RULE_FINDINGS_MAX);
        if let Some(last) = findings.last_mut().filter(|_| left_out > 0) {
            last.hint = format!("{} (and {left_out} findings more)", last.hint);
        }
        (findings, broken)
    }
}
