//! Which addresses are of the public internet. Pure.
//!
//! An address that carries another one (mapped, translated, tunnelled) is never public: what it leads to depends on the
//! machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// In the public internet.
    Public,
    /// On this machine or in a network of somebody: reached only where the operator names the host.
    Private(&'static str),
    /// Nowhere that a request may go: addresses of many, of the neighbourhood, of cloud metadata, of nobody.
    Forbidden(&'static str),
}

/// Metadata of a cloud at an address that looks public.
const METADATA: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// Where an address lies.
pub fn range(address: IpAddr) -> Range {
    match address {
        IpAddr::V4(address) => range_v4(address),
        IpAddr::V6(address) => range_v6(address),
    }
}

fn range_v4(address: Ipv4Addr) -> Range {
    if address == METADATA {
        return Range::Forbidden("cloud metadata");
    }
    match address.octets() {
        [127, ..] => Range::Private("loopback"),
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] => Range::Private("a private network"),
        [100, 64..=127, ..] => Range::Private("a network of a provider"),
        [0, ..] => Range::Forbidden("this network"),
        [169, 254, ..] => Range::Forbidden("link-local or cloud metadata"),
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => {
            Range::Forbidden("set aside for protocols and documents")
        }
        [192, 88, 99, _] => Range::Forbidden("a relay to other addresses"),
        [198, 18 | 19, ..] => Range::Forbidden("set aside for measurements"),
        [224..=239, ..] => Range::Forbidden("multicast"),
        [240..=255, ..] => Range::Forbidden("set aside"),
        _ => Range::Public,
    }
}

fn range_v6(address: Ipv6Addr) -> Range {
    if address.is_loopback() {
        return Range::Private("loopback");
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] => Range::Forbidden("an IPv4 address in another form"),
        [0xfd00, 0x0ec2, ..] => Range::Forbidden("cloud metadata"),
        [0xfc00..=0xfdff, ..] => Range::Private("a private network"),
        [0xfe80..=0xfebf, ..] => Range::Forbidden("link-local"),
        [0xff00..=0xffff, ..] => Range::Forbidden("multicast"),
        // Teredo, benchmarks, identifiers; documents; 6to4: the next network along.
        [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x2002, ..] | [0x3fff, 0..=0x0fff, ..] => {
            Range::Forbidden("set aside, or a tunnel")
        }
        [0x2000..=0x3fff, ..] => Range::Public,
        _ => Range::Forbidden("not in the public internet"),
    }
}
