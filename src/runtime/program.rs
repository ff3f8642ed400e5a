//! Starts the programs of bridges by the code that starts tool servers.

use async_trait::async_trait;

use crate::client::program::{LogLine, ProgramError, ProgramPipes, ProgramStarter, RunningProgram};
use crate::config::program::ProgramSettings;
use crate::text::program_log::ProgramLog;
use crate::text::redact::Redactor;
use crate::tools::service::{ServiceError, ServiceProcess, Services};

/// Directory of the directories of bridges, below the data directory.
const DIRECTORY: &str = "bridges";

/// The program of one channel.
pub struct ChannelProgram {
    pub channel: String,
    /// What is run.
    pub program: ProgramSettings,
    /// What it runs in.
    pub services: Services,
    /// Takes secrets out of what it writes for people.
    pub redactor: Redactor,
}

struct Started(ServiceProcess);

#[async_trait]
impl ProgramStarter for ChannelProgram {
    async fn look(&self) -> Result<String, ProgramError> {
        let command = (self.services).command(DIRECTORY, &self.channel, &self.program);
        command.await.map_err(of_service)?;
        Ok(if self.program.sandbox {
            self.services.sandbox.level_word()
        } else {
            "unsandboxed".to_owned()
        })
    }

    async fn start(
        &self,
        log: LogLine,
    ) -> Result<(Box<dyn RunningProgram>, ProgramPipes), ProgramError> {
        let kept = ProgramLog::new(self.redactor.clone());
        let told = move |text: &str| kept.push(text).iter().for_each(|line| log(line));
        let starting = (self.services).start(DIRECTORY, &self.channel, &self.program, told);
        let (process, streams) = starting.await.map_err(of_service)?;
        let pipes = ProgramPipes {
            input: Box::new(streams.input),
            output: Box::new(streams.output),
        };
        Ok((Box::new(Started(process)), pipes))
    }
}

#[async_trait]
impl RunningProgram for Started {
    async fn wait(&mut self) -> String {
        match self.0.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }

    async fn end(self: Box<Self>) {
        self.0.end().await;
    }
}

fn of_service(error: ServiceError) -> ProgramError {
    match error {
        ServiceError::Settings(why) => ProgramError::Settings(why),
        ServiceError::System(why) => ProgramError::System(why),
    }
}
