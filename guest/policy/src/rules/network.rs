//! Rules for hosts, ports and protocols.

use super::host::{self, Address, Host};
use super::index::{Field, Index, Key};
use super::{Certainty, Effect, NetworkSubject};
use core::fmt;

/// The ports and protocols of an allow rule that names none.
const WEB_PORTS: [u16; 2] = [80, 443];
const WEB_PROTOCOLS: [&str; 2] = ["http", "https"];

/// Protocols whose port a rule need not name.
const DEFAULT_PORTS: [(&str, u16); 10] = [
    ("ftp", 21),
    ("git", 9418),
    ("http", 80),
    ("https", 443),
    ("imaps", 993),
    ("smtp", 25),
    ("ssh", 22),
    ("ws", 80),
    ("wss", 443),
    ("sftp", 22),
];

/// The port that a protocol uses when none is named.
pub(crate) fn default_port(protocol: &str) -> Option<u16> {
    DEFAULT_PORTS.iter().find(|(name, _)| *name == protocol).map(|(_, port)| *port)
}

/// Which hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// `*`
    All,
    /// A name, its labels reversed.
    Name(String),
    /// `*.example.com`: every name below, at any depth.
    Below(String),
    /// `?.example.com`: every name with one label more.
    OneBelow(String),
    Address(Address),
    /// `10.0.0.0/8`: addresses whose bits begin like this.
    Net(String),
}

/// One host pattern as it was written, with the port behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) written: String,
    pub(crate) hosts: Hosts,
    pub(crate) port: Option<u16>,
}

/// Which ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ports {
    Any,
    /// From the first to the last of each.
    Some(Vec<(u16, u16)>),
}

/// Which protocols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Protocols {
    Any,
    /// HTTP and HTTPS, and what names no protocol: what a rule without ports allows.
    Web,
    Some(Vec<String>),
}

/// What a network rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) ports: Ports,
    pub(crate) protocols: Protocols,
    /// For saved grants: what named no protocol covers what names none.
    pub(crate) unnamed: bool,
}

impl Network {
    /// Ports and protocols that a rule did not name, by its effect.
    pub(crate) fn completed(
        effect: Effect,
        patterns: Vec<Pattern>,
        ports: Option<Ports>,
        protocols: Option<Protocols>,
    ) -> Network {
        let ported = ports.is_some() || patterns.iter().any(|pattern| pattern.port.is_some());
        let allow = effect == Effect::Allow;
        let ports = ports.unwrap_or_else(|| match &protocols {
            _ if !allow => Ports::Any,
            Some(Protocols::Some(names)) => Ports::Some(
                names
                    .iter()
                    .filter_map(|name| default_port(name))
                    .map(|port| (port, port))
                    .collect(),
            ),
            _ => Ports::Some(WEB_PORTS.iter().map(|port| (*port, *port)).collect()),
        });
        let protocols = protocols.unwrap_or(match allow && !ported {
            true => Protocols::Web,
            false => Protocols::Any,
        });
        Network { patterns, ports, protocols, unnamed: false }
    }

    pub(crate) fn keys(&self, effect: Effect, keys: &mut Vec<Key>) {
        for pattern in &self.patterns {
            if effect != Effect::Allow && pattern.hosts.is_this_machine() {
                keys.push(Key::whole(Field::Machine, ""));
            }
            match &pattern.hosts {
                Hosts::All => {
                    keys.push(Key::open(Field::HostName, ""));
                    keys.push(Key::open(Field::Address, ""));
                }
                Hosts::Name(name) => keys.push(Key::whole(Field::HostName, name)),
                Hosts::Below(name) | Hosts::OneBelow(name) => {
                    keys.push(Key::open(Field::HostName, name));
                }
                Hosts::Address(address) => keys.push(Key::whole(Field::Address, address.bits())),
                Hosts::Net(bits) => keys.push(Key::open(Field::Address, bits)),
            }
        }
    }

    /// Whether the rule matches, and how surely; `readings` are those of the host.
    pub(crate) fn matches(
        &self,
        effect: Effect,
        readings: &[Host],
        subject: &NetworkSubject<'_>,
    ) -> Option<Certainty> {
        let protocol = subject.protocol.map(str::to_ascii_lowercase);
        let protocol = protocol.as_deref();
        let fits = |host: &Host| {
            self.patterns.iter().any(|pattern| {
                pattern.hosts.contains(host, effect)
                    && self.port_fits(pattern, effect, subject.port)
            })
        };
        if effect == Effect::Allow {
            let protocol = match &self.protocols {
                Protocols::Any => true,
                Protocols::Web => protocol.is_none_or(|name| WEB_PROTOCOLS.contains(&name)),
                Protocols::Some(names) => match protocol {
                    Some(name) => names.iter().any(|known| known == name),
                    None => self.unnamed,
                },
            };
            let all = !readings.is_empty() && readings.iter().all(fits);
            return (protocol && all).then_some(Certainty::Certain);
        }
        let mut certain = !readings.is_empty();
        match (&self.protocols, protocol) {
            (Protocols::Some(names), Some(name)) if !names.iter().any(|known| known == name) => {
                return None;
            }
            (Protocols::Some(_), None) => certain = false,
            _ => {}
        }
        let unread =
            || self.patterns.iter().any(|pattern| self.port_fits(pattern, effect, subject.port));
        if !(readings.iter().any(fits) || (readings.is_empty() && unread())) {
            return None;
        }
        Some(if certain { Certainty::Certain } else { Certainty::Possible })
    }

    /// A subject without a port stands for all of them.
    fn port_fits(&self, pattern: &Pattern, effect: Effect, port: Option<u16>) -> bool {
        let within = |port: u16| match (pattern.port, &self.ports) {
            (Some(only), _) => port == only,
            (None, Ports::Any) => true,
            (None, Ports::Some(ranges)) => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&port))
            }
        };
        match port {
            Some(port) => within(port),
            None if effect == Effect::Allow => pattern.port.is_none() && self.ports == Ports::Any,
            None => true,
        }
    }

    /// Whether everything that the other rule matches is matched by this one.
    pub(crate) fn covers(&self, other: &Network) -> bool {
        let protocols = match (&self.protocols, &other.protocols) {
            (Protocols::Any, _) => true,
            (mine, theirs) if mine == theirs => self.unnamed || !other.unnamed,
            (Protocols::Web, Protocols::Some(names)) => {
                names.iter().all(|name| WEB_PROTOCOLS.contains(&name.as_str()))
            }
            (Protocols::Some(mine), Protocols::Some(theirs)) => {
                theirs.iter().all(|name| mine.contains(name)) && (self.unnamed || !other.unnamed)
            }
            _ => false,
        };
        protocols
            && other.patterns.iter().all(|theirs| {
                self.patterns.iter().any(|mine| {
                    mine.hosts.covers(&theirs.hosts)
                        && covers_ports(self.ranges(mine), other.ranges(theirs))
                })
            })
    }

    /// The ports of one pattern; none for any.
    fn ranges(&self, pattern: &Pattern) -> Option<Vec<(u16, u16)>> {
        match (pattern.port, &self.ports) {
            (Some(port), _) => Some(vec![(port, port)]),
            (None, Ports::Any) => None,
            (None, Ports::Some(ranges)) => Some(ranges.clone()),
        }
    }
}

fn covers_ports(mine: Option<Vec<(u16, u16)>>, theirs: Option<Vec<(u16, u16)>>) -> bool {
    match (mine, theirs) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(mine), Some(theirs)) => theirs
            .iter()
            .all(|(first, last)| mine.iter().any(|(low, high)| low <= first && last <= high)),
    }
}

/// Adds the rules whose hosts may be one of these readings; false where the host
/// could not be read, so that every network rule must be looked at.
pub(crate) fn find(index: &Index, effect: Effect, readings: &[Host], found: &mut Vec<u32>) -> bool {
    for host in readings {
        match host {
            Host::Name(name) => index.find(Field::HostName, name, found),
            Host::Address(address) => index.find(Field::Address, &address.bits(), found),
        }
        if effect != Effect::Allow && host.is_this_machine() {
            index.find(Field::Machine, "", found);
        }
    }
    !readings.is_empty()
}

impl Hosts {
    /// Reads a pattern without port.
    pub(crate) fn parse(text: &str) -> Result<Hosts, (String, String)> {
        if text == "*" {
            return Ok(Hosts::All);
        }
        if let Some((address, length)) = text.split_once('/') {
            return net(text, address, length);
        }
        let wild = [("*.", Hosts::Below as fn(String) -> Hosts), ("?.", Hosts::OneBelow)];
        for (mark, make) in wild {
            if let Some(rest) = text.strip_prefix(mark) {
                return match host::read(rest).as_slice() {
                    [Host::Name(name)] => Ok(make(name.clone())),
                    _ => Err(no_host(text, rest)),
                };
            }
        }
        match host::read(text).as_slice() {
            [Host::Name(name)] => Ok(Hosts::Name(name.clone())),
            [Host::Address(address)] => {
                let bare = text.trim_start_matches('[').trim_end_matches(']');
                match (address, bare == address.to_string()) {
                    (Address::V4(_), false) => Err((
                        format!("`{text}` is an odd way to write an address"),
                        format!("write `{address}`"),
                    )),
                    _ => Ok(Hosts::Address(*address)),
                }
            }
            _ => Err(no_host(text, text)),
        }
    }

    /// Whether this machine is among them, by any of its names.
    fn is_this_machine(&self) -> bool {
        match self {
            Hosts::Name(name) | Hosts::Below(name) | Hosts::OneBelow(name) => {
                Host::Name(name.clone()).is_this_machine()
            }
            Hosts::Address(address) => Host::Address(*address).is_this_machine(),
            Hosts::Net(bits) => host::has_this_machine(bits),
            Hosts::All => false,
        }
    }

    fn contains(&self, host: &Host, effect: Effect) -> bool {
        if effect != Effect::Allow && host.is_this_machine() && self.is_this_machine() {
            return true;
        }
        match (self, host) {
            (Hosts::All, _) => true,
            (Hosts::Name(mine), Host::Name(name)) => mine == name,
            (Hosts::Below(below), Host::Name(name)) => {
                name.strip_prefix(below.as_str()).is_some_and(|rest| !rest.is_empty())
            }
            (Hosts::OneBelow(below), Host::Name(name)) => {
                name.strip_prefix(below.as_str()).is_some_and(|rest| rest.matches('.').count() == 1)
            }
            (Hosts::Address(mine), Host::Address(address)) => mine == address,
            (Hosts::Net(bits), Host::Address(address)) => address.bits().starts_with(bits),
            _ => false,
        }
    }

    /// Whether every host of the other pattern is one of this.
    fn covers(&self, other: &Hosts) -> bool {
        match (self, other) {
            (Hosts::All, _) => true,
            (mine, theirs) if mine == theirs => true,
            (_, Hosts::Name(name)) => self.contains(&Host::Name(name.clone()), Effect::Allow),
            (_, Hosts::Address(address)) => self.contains(&Host::Address(*address), Effect::Allow),
            (Hosts::Below(mine), Hosts::Below(theirs) | Hosts::OneBelow(theirs)) => {
                theirs.starts_with(mine.as_str())
            }
            (Hosts::Net(mine), Hosts::Net(theirs)) => theirs.starts_with(mine.as_str()),
            _ => false,
        }
    }
}

fn net(text: &str, address: &str, length: &str) -> Result<Hosts, (String, String)> {
    let digits = !length.is_empty() && length.chars().all(|c| c.is_ascii_digit());
    let length: usize = length.parse().ok().filter(|_| digits).unwrap_or(usize::MAX);
    match Hosts::parse(address) {
        Ok(Hosts::Address(address)) => {
            let bits = address.bits();
            match (bits.get(..=length), bits.get(length.saturating_add(1)..)) {
                (Some(head), Some(tail)) if !tail.contains('1') => Ok(Hosts::Net(head.to_owned())),
                (Some(_), Some(_)) => Err((
                    format!("the address of `{text}` has bits beyond its length"),
                    "write the first address of the network".to_owned(),
                )),
                _ => Err((
                    format!("`{text}` has no length that its address can have"),
                    "write `10.0.0.0/8`".to_owned(),
                )),
            }
        }
        _ => Err((
            format!("`{text}` is no host"),
            "name the host alone, as in `example.com`, or a network, as in `10.0.0.0/8`".to_owned(),
        )),
    }
}

fn no_host(text: &str, part: &str) -> (String, String) {
    let hint = if text.contains("://") {
        "name the host alone; the protocol goes into `protocols`"
    } else if part.contains(['*', '?']) {
        "a wildcard stands for whole labels at the beginning: `*.example.com` for any depth, \
         `?.example.com` for one label"
    } else if !part.is_ascii() {
        "write the name's ASCII form, which begins with `xn--`"
    } else {
        "write a name, an IPv4 address or an IPv6 address"
    };
    (format!("`{text}` is no host"), hint.to_owned())
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written: Vec<&str> = self.patterns.iter().map(|p| p.written.as_str()).collect();
        f.write_str(&written.join(", "))?;
        match &self.ports {
            Ports::Some(ranges) if self.patterns.iter().any(|pattern| pattern.port.is_none()) => {
                let shown: Vec<String> = ranges
                    .iter()
                    .map(|(first, last)| match first == last {
                        true => first.to_string(),
                        false => format!("{first}-{last}"),
                    })
                    .collect();
                write!(f, ", port {}", shown.join(", "))?;
            }
            _ => {}
        }
        match &self.protocols {
            Protocols::Any => Ok(()),
            Protocols::Web => f.write_str(", http or https"),
            Protocols::Some(names) if names.is_empty() => f.write_str(", no protocol named"),
            Protocols::Some(names) => write!(f, ", {}", names.join(" or ")),
        }
    }
}
