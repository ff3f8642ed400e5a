//! During an emergency stop the channels say that they are held.

use leverframe::protocol::snapshot::Snapshot;

use crate::console_frames::driver::Driver;
use crate::console_frames::fixture::busy;

#[test]
fn a_channel_of_a_held_engine_is_called_held() {
    for held in [false, true] {
        let mut world: Snapshot = busy();
        for channel in &mut world.channels {
            channel.held = held;
        }
        let names: Vec<String> = world.channels.iter().map(|one| one.name.clone()).collect();
        let mut driver = Driver::with(160, 40, world);
        driver.press("4");
        let text = driver.text();
        for name in names {
            let row = text
                .lines()
                .find(|line| line.contains(&name))
                .unwrap_or_else(|| panic!("{name} is not shown:\n{text}"));
            assert_eq!(row.contains(" held"), held, "{row}");
        }
    }
}
