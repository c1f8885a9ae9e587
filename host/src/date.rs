//! Times as dates, on the wire and for people: milliseconds since 1970 and RFC 3339.

use jiff::Timestamp;

/// `2026-11-30T21:22:11.000Z` for milliseconds since 1970.
pub(crate) fn rfc3339(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    // A time that no calendar holds is told as it is.
    time.map_or_else(|| format!("{ms} ms"), |time| format!("{time:.3}"))
}

/// Milliseconds since 1970 of an RFC 3339 date; none where it is no date or before 1970.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::{milliseconds, rfc3339};

    #[test]
    fn dates_are_written_and_read() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_007, "2000-02-29T00:00:00.007Z"),
            (1_796_071_286_061, "2026-11-30T20:41:26.061Z"),
        ] {
            assert_eq!(rfc3339(ms), text);
            assert_eq!(milliseconds(text), Some(ms));
        }
        assert_eq!(milliseconds("2026-11-30T21:41:26.061+01:00"), Some(1_796_071_286_061));
        assert_eq!(milliseconds("1969-12-31T23:59:59Z"), None);
        assert_eq!(milliseconds("yesterday"), None);
        assert_eq!(rfc3339(u64::MAX), "18446744073709551615 ms");
    }
}
