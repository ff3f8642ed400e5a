//! The visitors of the demo and the files they ask about.

/// A channel of the demo and what is said there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoChannel {
    /// Channel name.
    pub name: &'static str,
    /// Who talks there.
    pub visitors: &'static [&'static str],
    /// What they say; every phrase is one that the scripted model acts on.
    pub phrases: &'static [&'static str],
}

const CHANNELS: &[DemoChannel] = &[
    DemoChannel {
        name: "dev-team",
        visitors: &["mira", "jonas", "priya"],
        phrases: &[
            "what changed in the changelog?",
            "add a release note for the faster start",
            "run the test script",
            "list the files",
        ],
    },
    DemoChannel {
        name: "community",
        visitors: &["sam", "alex", "noor"],
        phrases: &[
            "how do I reset my password?",
            "search the docs for backups",
            "write the FAQ entry about changing your e-mail address",
        ],
    },
    DemoChannel {
        name: "ops",
        visitors: &["lena", "tomas"],
        phrases: &[
            "show disk usage",
            "rotate the log",
            "what does the runbook say about restarts?",
        ],
    },
];

/// The channels of the demo.
pub fn demo_visitors() -> &'static [DemoChannel] {
    CHANNELS
}

const FILES: &[(&str, &str)] = &[
    (
        "README.md",
        "# Harbour\n\nA small web service that keeps track of ships, berths and tides.\n\n\
         - `scripts/test.sh` runs the tests\n- `CHANGELOG.md` says what changed\n- `docs/` is for users, \
         `runbook.md` for operators\n",
    ),
    (
        "CHANGELOG.md",
        "# Changelog\n\n## Unreleased\n- Berths can be reserved a week ahead\n\n## 1.4.2\n\
         - Tide tables load twice as fast\n- Fixed: a ship could be in two berths at once\n\n## 1.4.1\n\
         - Password mails are sent in the reader's language\n",
    ),
    (
        "docs/faq.md",
        "# Questions people ask\n\n## How do I reset my password?\n\nOpen the sign-in page, choose \
         \"Forgot password\", and follow the link in the mail.\nThe link works for one hour.\n\n\
         ## Who can see my reservations?\n\nYou and the harbour office.\n",
    ),
    (
        "docs/backups.md",
        "# Backups\n\nBackups are made every night at 02:00 and kept for 30 days.\n\nTo get one back, ask \
         the operators: they restore backups into a copy first.\n",
    ),
    (
        "runbook.md",
        "# Runbook\n\n## Restarts\n\nRestart one instance at a time and wait until /health answers 200.\n\
         A restart takes about 20 seconds.\n\n## Logs\n\nRotate by moving logs/app.log to logs/app.log.1; \
         the service opens a new file by itself.\n\n## Disk\n\nAbove 85 % remove old backups first.\n",
    ),
    (
        "scripts/test.sh",
        "#!/bin/sh\n# The tests of the demo project: the files everything refers to must be there.\n\
         failed=0\nfor file in README.md CHANGELOG.md docs/faq.md docs/backups.md runbook.md; do\n\
         \x20 if [ -s \"$file\" ]; then echo \"ok   $file\"; else echo \"FAIL $file\"; failed=1; fi\ndone\n\
         exit $failed\n",
    ),
    (
        "logs/app.log",
        "06:00:01 started, version 1.4.2\n06:00:02 listening on port 8080\n06:14:37 berth 7 reserved\n\
         06:31:05 tide table for tomorrow loaded\n",
    ),
];

/// The files of a demo workspace: path below it and content.
pub fn demo_files() -> &'static [(&'static str, &'static str)] {
    FILES
}
