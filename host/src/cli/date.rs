//! Times as dates, for people and scripts.

/// `2026-11-30T21:22:11Z` for milliseconds since 1970.
pub(super) fn date(ms: u64) -> String {
    // Counted from the first of March of year 0, so that a leap day ends its year. An age
    // is 400 years, of which each has as many days.
    let (seconds, mut days) = (ms / 1000 % 86_400, ms / 86_400_000 + 719_468);
    let mut year = days / 146_097 * 400;
    days %= 146_097;
    let leap = |year: u64| {
        (year + 1).is_multiple_of(4)
            && (!(year + 1).is_multiple_of(100) || (year + 1).is_multiple_of(400))
    };
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 3;
    for length in [31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 29] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    if month > 12 {
        (year, month) = (year + 1, month - 12);
    }
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", days + 1)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_around_leap_days_and_years() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399_999, "2000-02-28T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (951_868_800_000, "2000-03-01T00:00:00Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59Z"),
            (1_735_689_600_000, "2025-01-01T00:00:00Z"),
            (1_754_590_931_412, "2025-08-07T18:22:11Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(ms), text);
        }
    }
}
