//! Every limit that the guest counts, with its unit in the name. What goes
//! beyond a limit is never cut short: the caller gets the answer that fails
//! closed (an opaque command, a `truncated` flag).

/// Bytes of a shell command that is still split into stages.
pub const SHELL_COMMAND_BYTES_MAX: usize = 64 * 1024;

/// Bytes of the arguments in which a shell command is looked for. Larger ones are an
/// action of unknown kind: no turn that was accepted makes them.
pub const SHELL_ARGS_BYTES_MAX: usize = TURN_TEXT_BYTES_MAX;

/// Levels of brackets, substitutions and quotes inside each other.
pub const SHELL_NESTING_MAX: usize = 32;

/// Stages of one command.
pub const SHELL_STAGES_MAX: usize = 64;

/// Words of one command, over all its stages, with assignments and the targets
/// of redirects.
pub const SHELL_WORDS_MAX: usize = 1024;

/// Words that the braces of one word may make.
pub const SHELL_BRACE_WORDS_MAX: usize = 64;

/// Wrappers inside each other whose command is still looked for.
pub const SHELL_WRAPPERS_MAX: u32 = 8;

/// Bytes of a text that is searched for bare words.
pub const SHELL_BARE_BYTES_MAX: usize = SHELL_COMMAND_BYTES_MAX;

/// Bare words of one text, counted for each of the two readings.
pub const SHELL_BARE_WORDS_MAX: usize = 16 * 1024;

/// Paths that one stage may ask facts about.
pub const SURVEY_PATHS_MAX: usize = 256;

/// Bytes of one batch of records, with headers: what the log takes at once.
pub const BATCH_BYTES_MAX: usize = 768 * 1024;

/// Bytes reserved for one record's header in a batch.
pub const HEADER_BYTES_RESERVED: usize = 2 * 1024;

/// Bytes of a turn's text after it was quoted twice, as arguments in JSON in JSON.
pub const TURN_TEXT_BYTES_MAX: usize = 128 * 1024;

/// Characters of a command that a verdict's reason repeats.
pub const REASON_CHARS_MAX: usize = 256;

/// Turns that may wait for the running one.
pub const QUEUED_TURNS_MAX: u64 = 32;

/// Approvals that may be open in a session at once: what a client SDK keeps.
pub const OPEN_APPROVALS_MAX: u64 = 32;

/// Bytes of a mode's reason or error that are kept.
pub const MODE_TEXT_BYTES_MAX: usize = 1024;

/// Bytes reserved for what recovery writes of each item and each approval besides their own bodies.
pub const RECOVERY_BYTES_RESERVED: usize = 4 * 1024;

/// Words of a command that a lasting grant may name.
pub const GRANT_WORDS_MAX: usize = 16;

/// Characters of these words as they are shown.
pub const GRANT_PREFIX_CHARS_MAX: usize = 200;

/// Characters of a command, a path, a name or a target that a choice which lasts repeats.
pub const GRANT_SHOWN_CHARS_MAX: usize = 4096;

/// Compiled sets of rules that an instance keeps.
pub const RULE_SETS_KEPT_MAX: usize = 8;

/// Bytes of one layer of rules. A longer one is an error and gives no rule.
pub const RULES_LAYER_BYTES_MAX: usize = 256 * 1024;

/// Rules of all layers together.
pub const RULES_MAX: usize = 4096;

/// Patterns of all rules together that begin with a wildcard: every subject of their kind
/// is held against each.
pub const RULE_PATTERNS_EVERYWHERE_MAX: usize = 512;

/// Pairs of patterns that are compared to find rules that never decide.
pub const RULE_PATTERN_PAIRS_MAX: usize = 100_000;

/// Known-safe commands that the layers add together.
pub const SAFE_ENTRIES_MAX: usize = 1024;

/// Texts in one list of a rule: words, alternatives, paths, hosts, flags, examples.
pub const RULE_LIST_MAX: usize = 64;

/// Bytes of one text in a rule.
pub const RULE_TEXT_BYTES_MAX: usize = 1024;

/// Path patterns that the braces of one pattern may stand for.
pub const RULE_ALTERNATIVES_MAX: usize = 64;

/// Brackets inside each other in a rule file.
pub const RULE_NESTING_MAX: usize = 8;

/// Dots in one key of a rule file.
pub const RULE_KEY_DOTS_MAX: usize = 16;

/// Errors, and apart from them warnings, that are listed about one set of rules.
pub const RULE_FINDINGS_MAX: usize = 100;

/// Characters in which an item says what changed since its decision; longer, it is left out.
pub const CHANGED_CHARS_MAX: usize = 400;
