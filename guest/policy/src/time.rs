//! Milliseconds since the Unix epoch as RFC 3339 text, in integers only.

/// `2026-08-07T18:02:11.412Z` for a time in milliseconds; years beyond 9999 are held at the last one.
pub(crate) fn rfc3339(ms: u64) -> String {
    const LAST_MS: u64 = 253_402_300_799_999;
    let ms = ms.min(LAST_MS);
    let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
    let (hour, rest) = (rest / 3_600_000, rest % 3_600_000);
    let (minute, rest) = (rest / 60_000, rest % 60_000);
    let (second, milli) = (rest / 1000, rest % 1000);
    // Days to a civil date with years that begin in March, so that the leap day is the last one.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn civil_dates() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_754_590_931_412, "2025-08-07T18:22:11.412Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (u64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(ms), text);
        }
    }
}
