//! A real engine over a real store, whose clock stands still until it is moved.

use std::time::{Duration, Instant};

use leverframe::engine::core::Engine;
use leverframe::engine::start;
use leverframe::protocol::enums::ContinuationState;
use leverframe::protocol::ids::ContinuationId;
use leverframe::protocol::problem::Problem;
use leverframe::protocol::request::{
    AddRoutine, ChangeRoutine, Command, Outcome, Request, RunRoutine,
};
use leverframe::protocol::routine::{Routine, RoutinePatch, RoutineRun};
use leverframe::protocol::session::Continuation;
use leverframe::protocol::snapshot::PageRequest;

use crate::support::world::{World, submit};

const DEADLINE: Duration = Duration::from_secs(20);

pub struct Place {
    pub world: World,
    pub engine: Engine,
}

impl Place {
    pub async fn new() -> Self {
        Self::begin(World::new().await).await
    }

    async fn begin(world: World) -> Self {
        let engine = world.engine("");
        start::begin(&engine, &world.recovery).await.unwrap();
        Self { world, engine }
    }

    /// A clean end, and a new start when the clock has moved on by so many seconds.
    pub async fn restart(self, seconds: i64) -> Self {
        self.engine.stop().await;
        self.world.clock.advance_millis(seconds * 1000);
        Self::begin(self.world.restart().await).await
    }

    /// The end of a killed process, and a new start.
    pub async fn crash(self) -> Self {
        let world = self.world.crash().await;
        self.engine.stop().await;
        Self::begin(world).await
    }

    pub async fn end(self) {
        self.engine.stop().await;
        self.world.sound().await;
    }

    /// Moves the clock, as time does.
    pub fn advance(&self, seconds: i64) {
        self.world.clock.advance_millis(seconds * 1000);
        self.engine.scheduler.routines_changed();
    }

    pub async fn submit(&self, command: Command) -> Result<Outcome, Problem> {
        submit(&self.engine, command).await
    }

    pub async fn command<C>(&self, command: C) -> Result<C::Reply, Problem>
    where
        C: Request<Wire = Command, Answer = Outcome>,
    {
        C::reply(self.submit(command.into()).await?)
    }

    /// Makes a routine that says `done`, unless the patch says otherwise.
    pub async fn add(&self, name: &str, schedule: &str, patch: RoutinePatch) -> Routine {
        self.try_add(name, schedule, patch).await.unwrap()
    }

    pub async fn try_add(
        &self,
        name: &str,
        schedule: &str,
        patch: RoutinePatch,
    ) -> Result<Routine, Problem> {
        let routine = RoutinePatch {
            name: Some(name.to_owned()),
            schedule: Some(schedule.to_owned()),
            prompt: patch.prompt.clone().or_else(|| Some("SAY:done".to_owned())),
            ..patch
        };
        self.command(AddRoutine { routine }).await
    }

    pub async fn change(&self, name: &str, patch: RoutinePatch) -> Routine {
        let change = ChangeRoutine {
            routine: name.to_owned(),
            patch,
        };
        self.command(change).await.unwrap()
    }

    pub async fn run(&self, name: &str) -> Result<RoutineRun, Problem> {
        let run = RunRoutine {
            routine: name.to_owned(),
        };
        self.command(run).await
    }

    pub async fn routine(&self, name: &str) -> Routine {
        let name = name.to_owned();
        let read = self.world.store.read(move |reader| reader.routine(&name));
        read.await.unwrap()
    }

    /// Runs, oldest first.
    pub async fn runs(&self, name: &str) -> Vec<RoutineRun> {
        let id = self.routine(name).await.id;
        let page = PageRequest {
            limit: Some(500),
            cursor: None,
        };
        let read = self
            .world
            .store
            .read(move |reader| reader.routine_runs(id, &page));
        let mut runs = read.await.unwrap().items;
        runs.reverse();
        runs
    }

    /// Waits until everything that was due is settled; the runs then.
    pub async fn settled(&self, name: &str) -> Vec<RoutineRun> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let now = self.world.clock.now();
            if self
                .routine(name)
                .await
                .begin_at
                .is_none_or(|begin| begin > now)
            {
                return self.runs(name).await;
            }
            assert!(
                Instant::now() < deadline,
                "{name} is due and nobody settles it"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until a turn is in a state.
    pub async fn turn(&self, id: ContinuationId, state: ContinuationState) -> Continuation {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let read = self.world.store.read(move |reader| reader.continuation(id));
            let turn = read.await.unwrap();
            if turn.state == state {
                return turn;
            }
            assert!(Instant::now() < deadline, "{id} is {} for ever", turn.state);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
