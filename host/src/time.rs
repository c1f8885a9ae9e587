//! Milliseconds since 1970 as RFC 3339 text.

/// `2026-08-07T18:02:11.412Z` for a time in milliseconds; years beyond 9999 are held at the last one.
pub(crate) fn rfc3339(ms: u64) -> String {
    const LAST_MS: u64 = 253_402_300_799_999;
    const DAY_MS: u64 = 86_400_000;
    let ms = ms.min(LAST_MS);
    let (mut days, clock) = (ms / DAY_MS, ms % DAY_MS);
    let mut year = 1970_u64;
    while days >= year_days(year) {
        days -= year_days(year);
        year += 1;
    }
    let mut month = 1_u64;
    while days >= month_days(year, month) {
        days -= month_days(year, month);
        month += 1;
    }
    let (hour, minute) = (clock / 3_600_000, clock / 60_000 % 60);
    let (second, milli) = (clock / 1000 % 60, clock % 1000);
    let day = days + 1;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn year_days(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn month_days(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
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
