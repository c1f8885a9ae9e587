//! Running an allowed command: the supervisor and its driver.
