//! From a shell command to its stages.
