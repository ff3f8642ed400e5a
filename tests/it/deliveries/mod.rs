//! What becomes of a message when nobody saw its end: by what the adapter offers against doubled sends, on the real
//! binary, judged by the ledger of what people saw; and by the class of the message.

mod classes;
mod crash;
mod faults;
mod leases;
mod world;
