//! Every limit that the guest counts, with its unit in the name. What goes
//! beyond a limit is never cut short: the caller gets the answer that fails
//! closed (an opaque command, a `truncated` flag).

/// Bytes of a shell command that is still split into stages.
pub const SHELL_COMMAND_BYTES_MAX: usize = 64 * 1024;

/// Levels of brackets, substitutions and quotes inside each other.
pub const SHELL_NESTING_MAX: usize = 32;

/// Stages of one command.
pub const SHELL_STAGES_MAX: usize = 64;

/// Words of one command, over all its stages, with assignments and the targets
/// of redirects.
pub const SHELL_WORDS_MAX: usize = 1024;

/// Bytes of a text that is searched for bare words.
pub const SHELL_BARE_BYTES_MAX: usize = 1024 * 1024;

/// Bare words of one text, counted for each of the two readings.
pub const SHELL_BARE_WORDS_MAX: usize = 16 * 1024;

/// Paths that one stage may ask facts about.
pub const SURVEY_PATHS_MAX: usize = 256;
