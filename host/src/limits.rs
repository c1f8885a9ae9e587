//! Every limit of the host, in one place, each with its unit in its name.
//!
//! The limits that decide something are counted in the guest
//! (`guest/policy/src/limits.rs`); these only bound the shell around it.

/// Largest batch of one session's records (headers and bodies) that an append accepts.
pub const BATCH_BYTES_MAX: usize = 768 * 1024;

/// Largest command that bash can be given as one argument (the kernel's limit on a string, less its end).
pub const EXEC_COMMAND_BYTES_MAX: usize = 128 * 1024 - 1;
/// Largest environment of a command, names and values together.
pub const EXEC_ENVIRONMENT_BYTES_MAX: usize = 1024 * 1024;
/// Largest job as sent to a supervisor; JSON can write a byte of the above with six.
pub const EXEC_JOB_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Most output text that is kept of a command, and that its deltas carry together.
pub const EXEC_OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// Largest output delta.
pub const EXEC_DELTA_BYTES_MAX: usize = 8 * 1024;
/// Output deltas that wait for a reader before the rest is joined to fewer, larger ones.
pub const EXEC_DELTAS_QUEUED_MAX: usize = 16;
/// How much output is read at a time.
pub const EXEC_READ_BYTES: usize = 64 * 1024;
/// Largest report of a supervisor.
pub const EXEC_REPORT_BYTES_MAX: usize = 64 * 1024;
/// Time between SIGTERM and SIGKILL when a command is interrupted.
pub const EXEC_INTERRUPT_GRACE_MS: u64 = 400;
/// The same for what a command that ended by itself left in the background.
pub const EXEC_BACKGROUND_GRACE_MS: u64 = 100;
/// How long a supervisor goes on with SIGKILL before it reports what it cannot end.
pub const EXEC_KILL_MS_MAX: u64 = 3_000;
/// How often a supervisor collects the ended processes that it adopted.
pub const EXEC_REAP_INTERVAL_MS: u64 = 500;
/// How long the host waits for a supervisor after an interrupt before it ends everything itself.
pub const EXEC_INTERRUPT_ANSWER_MS_MAX: u64 = EXEC_INTERRUPT_GRACE_MS + EXEC_KILL_MS_MAX + 1_000;
/// How long output is read after the supervisor's report, should someone hold the pipe open.
pub const EXEC_DRAIN_MS_MAX: u64 = 500;
/// Processes above one that are looked at before it counts as inside an action.
pub const EXEC_ANCESTORS_MAX: usize = 1024;
/// How often they are looked at anew because one of them ended meanwhile.
pub const EXEC_WALKS_MAX: usize = 16;

/// Threads that run the policy component.
pub const POLICY_WORKERS: usize = 2;

/// Calls that may wait for a policy worker before a command is told to come back.
pub const POLICY_CALLS_QUEUED_MAX: usize = 1024;

/// Calls that one policy instance serves before it is made anew.
pub const POLICY_CALLS_PER_INSTANCE: u64 = 10_000;

/// Instances, memories and tables that the engine's pool holds.
pub const ENGINE_INSTANCES_MAX: u32 = 64;

/// Linear memory of a policy instance, in bytes.
pub const POLICY_MEMORY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Linear memory of a mode instance, in bytes.
pub const MODE_MEMORY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Fuel of one policy call: more than ten times the dearest call within the guest's limits.
pub const POLICY_FUEL_PER_CALL: u64 = 20_000_000_000;

/// Fuel of one mode call.
pub const MODE_FUEL_PER_CALL: u64 = 100_000_000;

/// Milliseconds between two ticks of the epoch.
pub const EPOCH_TICK_MS: u64 = 20;

/// Epoch ticks that one policy call may see: ten seconds.
pub const POLICY_TICKS_PER_CALL: u64 = 500;

/// Epoch ticks that one mode call may see: one second.
pub const MODE_TICKS_PER_CALL: u64 = 50;
/// Jobs that may wait for the log's writer; a further one waits to be queued.
pub const LOG_QUEUE_JOBS_MAX: usize = 1024;
/// Jobs that share one commit.
pub const LOG_GROUP_JOBS_MAX: usize = 256;
/// Bytes after which a commit takes no further job.
pub const LOG_GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Connections that read the log at the same time.
pub const LOG_READ_CONNECTIONS_MAX: usize = 4;
/// How long SQLite waits for another connection, in milliseconds.
pub const LOG_BUSY_TIMEOUT_MS: u64 = 10_000;
/// Free bytes that a commit leaves on the disk; with less it is refused before anything is written.
pub const LOG_DISK_FREE_BYTES_MIN: u64 = 1024 * 1024;
/// Size to which the write-ahead file is cut back after a checkpoint, in bytes.
pub const LOG_WAL_KEPT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Largest frame in either direction, in bytes.
pub const FRAME_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Roots whose grants a host remembers; when there are more it reads them again.
pub const GRANT_ROOTS_CACHED_MAX: usize = 256;

/// How many times one step may ask for more before it is given up.
pub const STEP_ROUNDS_MAX: usize = 16;

/// Actions of one turn of the exec agent.
pub const TURN_ACTIONS_MAX: usize = 128;

/// Longest time that a turn of the exec agent waits first.
pub const TURN_PAUSE_MS_MAX: u64 = 60_000;

/// Shortest time without watchers after which an idle session may be unloaded.
pub const IDLE_UNLOAD_SECONDS_MIN: u64 = 1;

/// Commands that may wait for one session.
pub const SESSION_COMMANDS_QUEUED_MAX: usize = 256;

/// Records that one `redacted` record names; more are named in several.
pub const REDACTED_RECORDS_MAX: usize = 10_000;

/// Sessions that a page of a list shows at most.
pub const SESSIONS_LISTED_MAX: u64 = 200;

/// Sessions that a page of a list shows when nothing is said.
pub const SESSIONS_LISTED_DEFAULT: u64 = 50;

/// Bytes of a session id that a client may choose.
pub const SESSION_ID_BYTES_MAX: usize = 128;

/// Records of one read of the log.
pub const READ_RECORDS_MAX: usize = 256;

/// Bytes of one read of the log.
pub const READ_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes that a page reserves for what frames one event.
pub const EVENT_FRAME_BYTES: usize = 64;

/// Bytes of item events that a resume carries inline.
pub const HISTORY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Events of one page.
pub const PAGE_EVENTS_MAX: usize = 1000;

/// Bytes of one page, unless the client wants fewer.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes kept of a frame beyond the cap, to find its id.
pub const OVERSIZED_PREFIX_BYTES: usize = 64 * 1024;

/// Bytes of a client's name.
pub const CLIENT_NAME_BYTES_MAX: usize = 128;

/// Frames that wait between our own client and its connection.
pub const CLIENT_FRAMES_QUEUED_MAX: usize = 256;

/// What a host may say before it answers our own client.
pub const CLIENT_MESSAGES_HELD_MAX: usize = 10_000;

/// Connections that one host serves on its socket at the same time.
pub const SOCKET_CONNECTIONS_MAX: usize = 64;

/// Pause after a connection could not be taken.
pub const SOCKET_ACCEPT_PAUSE_MS: u64 = 100;

/// How long a host that ends waits for a peer on its socket to read the last frames.
pub const SOCKET_DRAIN_MS_MAX: u64 = 1_000;

/// How long our own commands wait for another host to answer on its socket.
pub const SOCKET_ANSWER_MS_MAX: u64 = 10_000;

/// The first pause before a session tries a step of its own again, in milliseconds; it doubles.
pub const OWN_STEP_PAUSE_MS_MIN: u64 = 100;

/// The longest of these pauses, in milliseconds.
pub const OWN_STEP_PAUSE_MS_MAX: u64 = 5_000;

/// How often a session that stops with its host tries such a step.
pub const OWN_STEPS_AT_SHUTDOWN_MAX: u32 = 4;

/// How often rule files are looked at for what is pending, in milliseconds.
pub const RULES_LOOK_MS: u64 = 500;

/// Entries that one placet.toml may add to each of the lists of protected paths and of credentials.
pub const PROTECTED_ENTRIES_MAX: usize = 256;

/// Files in the user's own folder that are looked at, to tell whether a file with further
/// names is one of the listed ones.
pub const LISTED_FILES_LOOKED_AT_MAX: usize = 20_000;
