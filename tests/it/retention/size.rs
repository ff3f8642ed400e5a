//! The file neither grows under retention nor stays large when little is left in it.

use crate::retention::pieces::{settle, with_call};
use crate::retention::world::{DAY_MS, sound, sweep};
use crate::support::record::fact;
use crate::support::world::World;

const TURNS_A_DAY: usize = 12;

async fn size(world: &World) -> u64 {
    let path = world.dir.join("leverframe.db");
    world
        .store
        .with_writer(move |conn| {
            conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                .unwrap();
            std::fs::metadata(path).unwrap().len()
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn after_a_month_the_file_does_not_grow_any_more() {
    let world = World::new().await;
    let mut sizes = Vec::new();
    // What the tables take with nothing in them grows with the schema.
    let bare = size(&world).await;
    for day in 0..60 {
        for n in 0..TURNS_A_DAY {
            let (_, id) = world.running(&format!("c{n}")).await;
            world.finish(id, 2).await;
        }
        with_call(&world, "calls").await;
        settle(&world).await;
        world.clock.advance_millis(DAY_MS);
        sweep(&world).await;
        let size = size(&world).await;
        sizes.push(size);
        if day % 20 == 19 {
            sound(&world).await;
        }
    }
    let (month, later, last) = (sizes[9], sizes[44], sizes[59]);
    assert!(
        later - bare > (month - bare) * 2,
        "nothing was kept beyond {bare}: {sizes:?}"
    );
    let growth = last as f64 / later as f64 - 1.0;
    assert!(
        growth.abs() < 0.04,
        "{growth:.3} from day 45 to day 60: {sizes:?}"
    );

    // A quiet quarter: what is left is small, and so is the file.
    world.clock.advance_millis(90 * DAY_MS);
    let report = sweep(&world).await;
    assert!(
        report.continuations > 300 && report.freed_bytes > 0,
        "{report:?}"
    );
    let empty = size(&world).await;
    assert!(empty < last * 6 / 10, "{last} bytes became {empty}");
    sound(&world).await;
    fact(
        "retention",
        "file-size",
        &serde_json::json!({
            "turns_a_day": TURNS_A_DAY + 1, "day_10": month, "day_45": later, "day_60": last, "after_a_quiet_quarter": empty,
        }),
    );
}
