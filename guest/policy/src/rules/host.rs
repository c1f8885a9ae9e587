//! Host names and addresses in one form.
//!
//! A host that cannot be read is no host of any allow rule, and may be the host of
//! every deny rule: what one program refuses another may look up.

use core::net::{Ipv4Addr, Ipv6Addr};

/// A host in one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// Labels in lower case and ASCII, from the last to the first, each with a dot
    /// behind it: `com.example.`
    Name(String),
    Address(Address),
}

/// An IP address; an IPv6 address that stands for an IPv4 address is the latter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    V4(u32),
    V6(u128),
}

impl Address {
    /// The address in bits, behind `4` or `6`.
    pub(crate) fn bits(self) -> String {
        match self {
            Address::V4(bits) => format!("4{bits:032b}"),
            Address::V6(bits) => format!("6{bits:0128b}"),
        }
    }

    fn is_this_machine(self) -> bool {
        match self {
            Address::V4(bits) => bits >> 24 == 127 || bits == 0,
            Address::V6(bits) => bits <= 1,
        }
    }
}

impl core::fmt::Display for Address {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Address::V4(bits) => Ipv4Addr::from_bits(*bits).fmt(f),
            Address::V6(bits) => Ipv6Addr::from_bits(*bits).fmt(f),
        }
    }
}

impl Host {
    /// Whether it is this machine itself, by whatever name.
    pub(crate) fn is_this_machine(&self) -> bool {
        match self {
            Host::Name(reversed) => reversed.starts_with("localhost."),
            Host::Address(address) => address.is_this_machine(),
        }
    }
}

/// Whether a network, as the bits that its addresses begin with, has an address of
/// this machine.
pub(crate) fn has_this_machine(net: &str) -> bool {
    let loopback = "401111111";
    let own = [Address::V4(0), Address::V6(0), Address::V6(1)];
    net.starts_with(loopback)
        || loopback.starts_with(net)
        || own.iter().any(|address| address.bits().starts_with(net))
}

/// The ways to read a host: none if it is not one. Only an IPv4 address with leading
/// zeros has two, since some programs take them for octal numbers.
pub(crate) fn read(text: &str) -> Vec<Host> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address6(inside).into_iter().map(Host::Address).collect();
    }
    if text.contains(':') {
        return address6(text).into_iter().map(Host::Address).collect();
    }
    if ends_in_number(text) {
        let mut readings: Vec<Host> = Vec::new();
        for octal in [true, false] {
            let host = address4(text, octal).map(|bits| Host::Address(Address::V4(bits)));
            readings.extend(host.filter(|host| !readings.contains(host)));
        }
        return readings;
    }
    reversed(text).map(Host::Name).into_iter().collect()
}

/// Turns `www.example.com` into `com.example.www.`
pub(crate) fn reversed(name: &str) -> Option<String> {
    let mut labels = Vec::new();
    let mut length = 0;
    for written in name.split('.') {
        let label = label(Some(written).filter(|label| label.len() <= 253)?)?;
        length += label.len() + 1;
        labels.push(label);
    }
    if length > 254 {
        return None;
    }
    labels.reverse();
    Some(labels.iter().map(|label| format!("{label}.")).collect())
}

/// One label in lower case and ASCII.
fn label(written: &str) -> Option<String> {
    let lower = written.to_lowercase();
    let label = if lower.is_ascii() {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        lower.chars().all(plain).then_some(lower)?
    } else {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || is_plain(c);
        format!("xn--{}", lower.chars().all(plain).then(|| punycode(&lower))??)
    };
    (1..=63).contains(&label.len()).then_some(label)
}

fn address6(text: &str) -> Option<Address> {
    let text = text.split_once('%').map_or(text, |(address, _zone)| address);
    let address: Ipv6Addr = text.parse().ok()?;
    Some(match address.to_ipv4_mapped() {
        Some(inside) => Address::V4(inside.to_bits()),
        None => Address::V6(address.to_bits()),
    })
}

/// Whether the last label is a number, so that the whole is an IPv4 address or nothing.
fn ends_in_number(text: &str) -> bool {
    let last = text.rsplit('.').next().unwrap_or_default();
    let digits = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    match digits {
        Some(digits) => digits.chars().all(|c| c.is_ascii_hexdigit()),
        None => !last.is_empty() && last.chars().all(|c| c.is_ascii_digit()),
    }
}

/// An IPv4 address of one to four numbers, the last of which fills the rest.
fn address4(text: &str, octal: bool) -> Option<u32> {
    let mut numbers = Vec::new();
    for part in text.split('.') {
        numbers.push(number(part, octal)?);
    }
    let (last, before) = numbers.split_last()?;
    if before.len() > 3 {
        return None;
    }
    let mut bits: u64 = 0;
    for byte in before {
        bits = (bits << 8) | Some(*byte).filter(|byte| *byte < 256)?;
    }
    let room = 8 * (4 - u32::try_from(before.len()).ok()?);
    let last = Some(*last).filter(|last| *last >> room == 0)?;
    u32::try_from((bits << room) | last).ok()
}

fn number(part: &str, octal: bool) -> Option<u64> {
    let hexadecimal = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"));
    let (digits, radix) = match hexadecimal {
        Some("") => return Some(0),
        Some(digits) => (digits, 16),
        None if octal && part.len() > 1 && part.starts_with('0') => (part, 8),
        None => (part, 10),
    };
    let valid = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    u64::from_str_radix(digits, radix).ok().filter(|_| valid && digits.len() < 16)
}

/// Letters, digits and marks that every reading of an international name leaves as
/// they are once in lower case, in the scripts that most such names are written in.
/// Any other character may be mapped to something else (a full-width letter to a plain
/// one), so a label with one is not read; its ASCII form (`xn--`) always is.
const PLAIN: &[(char, char)] = &[
    ('\u{e0}', '\u{f6}'),
    ('\u{f8}', '\u{12f}'),
    ('\u{131}', '\u{131}'),
    ('\u{135}', '\u{13e}'),
    ('\u{142}', '\u{148}'),
    ('\u{14b}', '\u{17e}'),
    ('\u{180}', '\u{1c3}'),
    ('\u{1ce}', '\u{1ef}'),
    ('\u{1f5}', '\u{24f}'),
    ('\u{371}', '\u{373}'),
    ('\u{377}', '\u{377}'),
    ('\u{37b}', '\u{37d}'),
    ('\u{3ac}', '\u{3af}'),
    ('\u{3b1}', '\u{3c1}'),
    ('\u{3c3}', '\u{3ce}'),
    ('\u{3d7}', '\u{3ef}'),
    ('\u{3f3}', '\u{3f3}'),
    ('\u{3f8}', '\u{3f8}'),
    ('\u{3fb}', '\u{481}'),
    ('\u{48b}', '\u{52f}'),
    ('\u{560}', '\u{586}'),
    ('\u{588}', '\u{588}'),
    ('\u{5d0}', '\u{5ea}'),
    ('\u{5ef}', '\u{5f2}'),
    ('\u{620}', '\u{63f}'),
    ('\u{641}', '\u{64a}'),
    ('\u{660}', '\u{669}'),
    ('\u{66e}', '\u{66f}'),
    ('\u{671}', '\u{674}'),
    ('\u{679}', '\u{6d3}'),
    ('\u{6d5}', '\u{6d5}'),
    ('\u{6ee}', '\u{6fc}'),
    ('\u{6ff}', '\u{6ff}'),
    ('\u{900}', '\u{93b}'),
    ('\u{93d}', '\u{94c}'),
    ('\u{94e}', '\u{950}'),
    ('\u{955}', '\u{957}'),
    ('\u{960}', '\u{963}'),
    ('\u{966}', '\u{96f}'),
    ('\u{972}', '\u{97f}'),
    ('\u{e01}', '\u{e32}'),
    ('\u{e34}', '\u{e37}'),
    ('\u{e40}', '\u{e45}'),
    ('\u{e47}', '\u{e47}'),
    ('\u{e4c}', '\u{e4e}'),
    ('\u{e50}', '\u{e59}'),
    ('\u{10d0}', '\u{10fa}'),
    ('\u{10fd}', '\u{10ff}'),
    ('\u{3041}', '\u{3096}'),
    ('\u{30a1}', '\u{30fa}'),
    ('\u{30fc}', '\u{30fc}'),
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{9fff}'),
    ('\u{ac00}', '\u{d7a3}'),
];

fn is_plain(c: char) -> bool {
    let after = PLAIN.partition_point(|(first, _)| *first <= c);
    after.checked_sub(1).and_then(|at| PLAIN.get(at)).is_some_and(|(_, last)| c <= *last)
}

/// RFC 3492, for one label that is not all ASCII.
fn punycode(label: &str) -> Option<String> {
    const BASE: u32 = 36;
    let mut out: String = label.chars().filter(char::is_ascii).collect();
    let basic = u32::try_from(out.len()).ok()?;
    let total = u32::try_from(label.chars().count()).ok()?;
    if basic > 0 {
        out.push('-');
    }
    let (mut next, mut delta, mut bias, mut handled) = (0x80_u32, 0_u32, 72_u32, basic);
    while handled < total {
        let least = label.chars().map(u32::from).filter(|c| *c >= next).min()?;
        delta = delta.checked_add((least - next).checked_mul(handled + 1)?)?;
        next = least;
        for c in label.chars().map(u32::from) {
            if c < next {
                delta = delta.checked_add(1)?;
            }
            if c != next {
                continue;
            }
            let (mut rest, mut weight) = (delta, BASE);
            loop {
                let threshold = weight.saturating_sub(bias).clamp(1, 26);
                if rest < threshold {
                    break;
                }
                let span = BASE - threshold;
                out.push(digit(threshold + (rest - threshold) % span)?);
                rest = (rest - threshold) / span;
                weight += BASE;
            }
            out.push(digit(rest)?);
            bias = adapted(delta, handled + 1, handled == basic);
            delta = 0;
            handled += 1;
        }
        delta = delta.checked_add(1)?;
        next = next.checked_add(1)?;
    }
    Some(out)
}

fn digit(value: u32) -> Option<char> {
    char::from_digit(
        value.checked_add(10).filter(|v| *v < 36).unwrap_or(value.wrapping_sub(26)),
        36,
    )
}

fn adapted(delta: u32, points: u32, first: bool) -> u32 {
    let mut delta = if first { delta / 700 } else { delta / 2 };
    delta += delta / points;
    let mut steps = 0;
    while delta > 455 {
        delta /= 35;
        steps += 36;
    }
    steps + 36 * delta / (delta + 38)
}
