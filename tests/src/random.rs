//! A small seeded generator (splitmix64): one number reproduces a whole run.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream that a seed gives.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The seed in `$PLACET_SEED`, else one that is always the same.
    pub fn seed() -> u64 {
        let given = std::env::var("PLACET_SEED").ok();
        given.and_then(|text| text.trim().parse().ok()).unwrap_or(20_260_807)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below a bound, 0 for the bound 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        let number = if bound == 0 { 0 } else { self.next() % bound };
        usize::try_from(number).unwrap_or(0)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// One of these words; the empty one if there are none.
    pub fn word<'a>(&mut self, from: &[&'a str]) -> &'a str {
        self.pick(from).copied().unwrap_or_default()
    }
}
