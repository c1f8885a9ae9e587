//! Which characters a person sees. The guest offers a choice that lasts only for what is
//! seen in full, the host escapes what is not: one table serves both.

/// Characters that are not seen, or that change how others are: ranges in ascending order.
const UNSEEN: [(u32, u32); 38] = [
    (0x00, 0x1F),
    (0x7F, 0xA0),
    (0xAD, 0xAD),
    // Marks that stand on the character before them.
    (0x300, 0x36F),
    (0x483, 0x489),
    (0x600, 0x605),
    (0x61C, 0x61C),
    (0x6DD, 0x6DD),
    (0x70F, 0x70F),
    (0x890, 0x891),
    (0x8E2, 0x8E2),
    (0x115F, 0x1160),
    (0x1680, 0x1680),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    // Spaces of other widths, joiners, and what turns the direction.
    (0x2000, 0x200F),
    (0x2028, 0x202F),
    (0x205F, 0x206F),
    (0x20D0, 0x20FF),
    (0x2800, 0x2800),
    (0x3000, 0x3000),
    (0x3164, 0x3164),
    // Surrogates cannot be; what is for private use looks as the font likes.
    (0xE000, 0xF8FF),
    (0xFDD0, 0xFDEF),
    (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFC),
    (0xFFFE, 0xFFFF),
    (0x110BD, 0x110CD),
    (0x13430, 0x13455),
    (0x1BCA0, 0x1BCA3),
    (0x1D165, 0x1D1AD),
    (0x1FFFE, 0x1FFFF),
    // Tags, further variations, and nothing else that is assigned beyond the ideographs.
    (0x3_2000, 0x10_FFFF),
];

/// Whether a character is not seen, or changes how others are.
#[must_use]
pub fn unseen(character: char) -> bool {
    let code = u32::from(character);
    UNSEEN.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

#[cfg(test)]
mod tests {
    use super::UNSEEN;

    #[test]
    fn ranges_ascend_and_do_not_meet() {
        assert!(UNSEEN.is_sorted_by(|a, b| a.1 < b.0), "ranges ascend and do not meet");
    }
}
