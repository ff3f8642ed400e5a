//! Who may hold how many TCP connections. All of them together leave descriptors for the owner's socket, the database
//! and the tools. Neither an address nor a principal takes what others need.
//!
//! A connection that has proved nothing keeps its seat for a moment only: once the seats of such strangers are taken,
//! the oldest of them gives its seat to the newest. So whoever shows a credential at once gets in, however many hold
//! on without one.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::api::report::ListenerReport;
use crate::config::server::ListenerLimits;
use crate::protocol::listener::ListenerRefusal;

/// Descriptors that are left for everything else, where there are so many; never more than half of them.
pub const RESERVE: u64 = 4096;
/// Most seats of strangers, however many there are.
const STRANGERS: usize = 1024;
/// Time for which a stranger keeps its seat before it is displaced: to show its credential, and to get an answer.
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_FOR_ANSWER: Duration = Duration::from_secs(5);

/// How many seats there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeatLimits {
    /// Connections in all.
    pub all: usize,
    /// Connections that have proved nothing.
    pub strangers: usize,
    /// The same from one address that is not of this machine.
    pub strangers_of_address: usize,
    /// Connections from one address that is not of this machine.
    pub of_address: usize,
    /// Connections of one principal.
    pub of_principal: usize,
}

impl SeatLimits {
    /// The limits where this many descriptors may be open.
    pub fn among(descriptors: u64, wishes: &ListenerLimits) -> Self {
        let room = descriptors - RESERVE.min(descriptors / 2);
        let usual = usize::try_from(room.min(3 * RESERVE)).unwrap_or(8);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let wish = |count: Option<u32>| count.and_then(|count| usize::try_from(count).ok());
        let all = wish(wishes.connections)
            .map_or(usual, |most| most.min(room))
            .max(8);
        let strangers = (all / 2).min(STRANGERS);
        let of_address = all - all / 8;
        Self {
            all,
            strangers,
            strangers_of_address: strangers / 2,
            of_address,
            of_principal: wish(wishes.connections_per_principal)
                .unwrap_or(all / 8)
                .clamp(1, of_address),
        }
    }

    /// The limits of this process.
    pub fn of_process(wishes: &ListenerLimits) -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        Self::among(limit.current.unwrap_or(u64::MAX), wishes)
    }
}

/// The seats of one listener.
#[derive(Clone)]
pub struct Seats {
    room: Arc<Room>,
}

/// The seat of one connection. Clones share it; the last one gives it back.
#[derive(Clone)]
pub struct Seat(Arc<Occupancy>);

struct Occupancy {
    room: Arc<Room>,
    number: u64,
    displaced: CancellationToken,
}

struct Room {
    limits: SeatLimits,
    taken: Mutex<Places>,
    /// A stranger has left its seat.
    freed: Notify,
    report: Arc<dyn ListenerReport>,
}

/// Who sits where. Numbers grow with time.
#[derive(Default)]
struct Places {
    next: u64,
    places: HashMap<u64, Place>,
    strangers: BTreeMap<u64, Stranger>,
    addresses: HashMap<IpAddr, AddressCount>,
    principals: HashMap<Arc<str>, usize>,
}

struct Place {
    address: Option<IpAddr>,
    /// None = it has proved nothing.
    principal: Option<Arc<str>>,
}

struct Stranger {
    address: Option<IpAddr>,
    since: Instant,
    is_answered: bool,
    displaced: CancellationToken,
}

impl Stranger {
    /// When it can be displaced.
    fn settled(&self) -> Instant {
        let patience = if self.is_answered {
            PATIENCE_FOR_ANSWER
        } else {
            PATIENCE
        };
        self.since + patience
    }
}

#[derive(Default)]
struct AddressCount {
    all: usize,
    strangers: usize,
}

/// What becomes of one more connection.
enum SeatAnswer {
    Seated(u64, CancellationToken),
    /// Nobody can be displaced before.
    Later(Instant),
    Refused(ListenerRefusal),
}

/// Addresses that belong to one holder count as one: a network of 64 bits in IPv6. None = of this machine, where
/// programs, proxies and tunnels share the address.
pub fn holder(address: IpAddr) -> Option<IpAddr> {
    let address = address.to_canonical();
    if address.is_loopback() {
        return None;
    }
    Some(match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(one) => Ipv6Addr::from_bits(one.to_bits() & !u128::from(u64::MAX)).into(),
    })
}

impl Seats {
    /// Seats under these limits, of which nobody has one.
    pub fn new(limits: SeatLimits, report: Arc<dyn ListenerReport>) -> Self {
        report.connections(0, limits.all);
        Self {
            room: Arc::new(Room {
                limits,
                taken: Mutex::default(),
                freed: Notify::new(),
                report,
            }),
        }
    }

    /// A seat for a connection that has proved nothing yet. Waits a moment where the strangers have all seats that are
    /// theirs, and none of them had its time. A call that is dropped took none.
    ///
    /// # Errors
    /// Why there is none: the connection must go.
    pub async fn take(&self, address: IpAddr) -> Result<Seat, ListenerRefusal> {
        let address = holder(address);
        loop {
            let later = match self.room.seat(address, Instant::now()) {
                SeatAnswer::Seated(number, displaced) => {
                    return Ok(Seat(Arc::new(Occupancy {
                        room: Arc::clone(&self.room),
                        number,
                        displaced,
                    })));
                }
                SeatAnswer::Refused(why) => {
                    self.room.report.refused(why);
                    return Err(why);
                }
                SeatAnswer::Later(later) => later,
            };
            tokio::select! {
                () = self.room.freed.notified() => {}
                () = tokio::time::sleep_until(later.into()) => {}
            }
        }
    }
}

impl Room {
    fn lock(&self) -> std::sync::MutexGuard<'_, Places> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seat(&self, address: Option<IpAddr>, now: Instant) -> SeatAnswer {
        let limits = &self.limits;
        let mut places = self.lock();
        let of_address = address.and_then(|address| places.addresses.get(&address));
        if let Some(count) = of_address {
            let is_full = count.all >= limits.of_address;
            if is_full || count.strangers >= limits.strangers_of_address {
                // Its own strangers make room, or it goes: others do not wait for it.
                match places.oldest(|stranger| stranger.address == address) {
                    Some((number, settled)) if settled <= now => {
                        self.displace(&mut places, number);
                    }
                    Some(_) | None => {
                        return SeatAnswer::Refused(ListenerRefusal::AddressConnections);
                    }
                }
            }
        }
        if places.strangers.len() >= limits.strangers || places.places.len() >= limits.all {
            match places.oldest(|_| true) {
                Some((number, settled)) if settled <= now => self.displace(&mut places, number),
                Some((_, settled)) => return SeatAnswer::Later(settled),
                None => return SeatAnswer::Refused(ListenerRefusal::Connections),
            }
        }
        let displaced = CancellationToken::new();
        let number = places.sit(address, now, displaced.clone());
        self.tell(&places);
        SeatAnswer::Seated(number, displaced)
    }

    fn displace(&self, places: &mut Places, number: u64) {
        if let Some(stranger) = places.strangers.get(&number) {
            stranger.displaced.cancel();
        }
        places.leave(number);
        self.report.refused(ListenerRefusal::Displaced);
    }

    fn tell(&self, places: &Places) {
        self.report
            .connections(places.places.len(), self.limits.all);
    }
}

impl Places {
    /// The stranger that sits longest and waits for no answer, else the one that sits longest; and when it can be
    /// displaced.
    fn oldest(&self, counts: impl Fn(&Stranger) -> bool) -> Option<(u64, Instant)> {
        let mut all = self.strangers.iter().filter(|(_, one)| counts(one));
        let first = all.next()?;
        let idle = std::iter::once(first)
            .chain(all)
            .find(|(_, one)| !one.is_answered);
        let (number, stranger) = idle.unwrap_or(first);
        Some((*number, stranger.settled()))
    }

    fn sit(
        &mut self,
        address: Option<IpAddr>,
        since: Instant,
        displaced: CancellationToken,
    ) -> u64 {
        let number = self.next;
        self.next += 1;
        if let Some(address) = address {
            let count = self.addresses.entry(address).or_default();
            count.all += 1;
            count.strangers += 1;
        }
        let stranger = Stranger {
            address,
            since,
            is_answered: false,
            displaced,
        };
        self.strangers.insert(number, stranger);
        let principal = None;
        self.places.insert(number, Place { address, principal });
        number
    }

    /// One more connection of a principal, unless it has all that are its. It may hold this seat already.
    fn admit(&mut self, number: u64, principal: &Arc<str>, most: usize) -> bool {
        // A seat that was displaced is nobody's: its connection ends.
        let Some(place) = self.places.get_mut(&number) else {
            return true;
        };
        if place.principal.as_ref() == Some(principal) {
            return true;
        }
        let count = self.principals.entry(Arc::clone(principal)).or_default();
        if *count >= most {
            return false;
        }
        *count += 1;
        let before = place.principal.replace(Arc::clone(principal));
        match before {
            Some(before) => self.release(&before),
            None => self.prove(number),
        }
        true
    }

    /// It is no stranger any more.
    fn prove(&mut self, number: u64) {
        let stranger = self.strangers.remove(&number);
        let address = stranger.and_then(|stranger| stranger.address);
        if let Some(count) = address.and_then(|address| self.addresses.get_mut(&address)) {
            count.strangers = count.strangers.saturating_sub(1);
        }
    }

    fn release(&mut self, principal: &Arc<str>) {
        if let Some(count) = self.principals.get_mut(principal) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.principals.remove(principal);
            }
        }
    }

    fn leave(&mut self, number: u64) {
        let Some(place) = self.places.remove(&number) else {
            return;
        };
        match &place.principal {
            Some(principal) => self.release(principal),
            None => self.prove(number),
        }
        let Some(address) = place.address else { return };
        if let Some(count) = self.addresses.get_mut(&address) {
            count.all = count.all.saturating_sub(1);
            if count.all == 0 {
                self.addresses.remove(&address);
            }
        }
    }
}

impl Seat {
    /// The principal showed a good credential on this connection: its place among the strangers is free again.
    ///
    /// # Errors
    /// The most that one principal may hold, where it holds so many.
    pub fn admit(&self, principal: &Arc<str>) -> Result<(), usize> {
        let Occupancy { room, number, .. } = &*self.0;
        let most = room.limits.of_principal;
        if room.lock().admit(*number, principal, most) {
            room.freed.notify_one();
            return Ok(());
        }
        room.report.refused(ListenerRefusal::PrincipalConnections);
        Err(most)
    }

    /// A whole request came, without a credential: the stranger waits for its answer.
    pub fn await_answer(&self) {
        let Occupancy { room, number, .. } = &*self.0;
        if let Some(stranger) = room.lock().strangers.get_mut(number) {
            stranger.is_answered = true;
        }
    }

    /// Whether nobody has shown a good credential on this connection.
    pub fn is_stranger(&self) -> bool {
        let Occupancy { room, number, .. } = &*self.0;
        let places = room.lock();
        let place = places.places.get(number);
        place.is_none_or(|place| place.principal.is_none())
    }

    /// Ends once the seat went to another connection.
    pub async fn displaced(&self) {
        self.0.displaced.cancelled().await;
    }
}

impl Drop for Occupancy {
    fn drop(&mut self) {
        let mut places = self.room.lock();
        places.leave(self.number);
        self.room.tell(&places);
        drop(places);
        self.room.freed.notify_one();
    }
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Seat")
            .field("number", &self.0.number)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Seats {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Seats")
            .field("limits", &self.room.limits)
            .finish_non_exhaustive()
    }
}
