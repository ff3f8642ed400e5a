//! The visitors of the demo and the files they ask about.

/// A channel of the demo and what is said there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoChannel {
    pub name: &'static str,
    /// Who says what, first in this order, then again and again in any; every text is one that the scripted model
    /// acts on, or a slash command.
    pub lines: &'static [(&'static str, &'static str)],
    /// Tools that run there without asking.
    pub auto_approve: &'static [&'static str],
}

impl DemoChannel {
    /// Who talks there, everybody once.
    pub fn visitors(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.lines.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

const CHANNELS: &[DemoChannel] = &[
    DemoChannel {
        name: "dev-team",
        lines: &[
            ("jonas", "add a release note for the faster start"),
            ("mira", "what changed in the changelog?"),
            ("priya", "run the test script"),
            // Breaks off; mira lets it go on when nobody else has.
            ("mira", "summarise the last week"),
            ("mira", "/continue"),
            // Low risk, and asked all the same: only `community` has `remember` on its list.
            ("mira", "remember that the release is on Friday"),
            ("jonas", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "community",
        lines: &[
            ("sam", "how do I reset my password?"),
            // The same question from people who have said nothing yet: one answer for all of them, where it is kept.
            ("noor", "what are the opening hours?"),
            ("alex", "what are the opening hours?"),
            ("kim", "what are the opening hours?"),
            // Kept without asking; forgetting, pinning and looking through it is for the console.
            ("sam", "remember that my berth is number 7"),
            ("sam", "search the docs for backups"),
            (
                "noor",
                "write the FAQ entry about changing your e-mail address",
            ),
            ("sam", "what do you remember about my berth?"),
        ],
        auto_approve: &["remember"],
    },
    DemoChannel {
        name: "ops",
        lines: &[
            ("lena", "show disk usage"),
            // Refused at first (429), then answered.
            ("tomas", "when is high tide?"),
            ("lena", "rotate the log"),
            // Critical: a file of credentials.
            ("lena", "which mail account does the service use?"),
            ("tomas", "what does the runbook say about restarts?"),
        ],
        auto_approve: &[],
    },
];

/// The channels of the demo.
pub fn demo_visitors() -> &'static [DemoChannel] {
    CHANNELS
}

/// Many channels, each with four visitors who ask at once: what an operator of a whole house sees.
const FLEET: &[DemoChannel] = &[
    DemoChannel {
        name: "berths",
        lines: &[
            ("ada", "add a release note for the harbour fees"),
            ("bram", "write the FAQ entry about the harbour fees"),
            ("cleo", "run the test script"),
            ("dov", "which mail account does the service use?"),
            ("ada", "what changed in the changelog?"),
            ("bram", "what are the opening hours?"),
            ("cleo", "remember that the harbour fees are on the wall"),
            ("dov", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "billing",
        lines: &[
            ("emil", "add a release note for the new quay"),
            ("fay", "write the FAQ entry about the new quay"),
            ("gus", "show disk usage"),
            ("hana", "remember that the new quay change on Monday"),
            ("emil", "what changed in the changelog?"),
            ("fay", "what are the opening hours?"),
            ("gus", "remember that the new quay are on the wall"),
            ("hana", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "bookings",
        lines: &[
            ("ines", "add a release note for the night ferry"),
            ("jules", "write the FAQ entry about the night ferry"),
            ("kaya", "rotate the log"),
            ("leo", "run the test script"),
            ("ines", "what changed in the changelog?"),
            ("jules", "what are the opening hours?"),
            ("kaya", "remember that the night ferry are on the wall"),
            ("leo", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "crew",
        lines: &[
            ("maud", "add a release note for the crane bookings"),
            ("nils", "write the FAQ entry about the crane bookings"),
            ("olga", "run the test script"),
            ("paul", "add a release note for the crane bookings in print"),
            ("maud", "what changed in the changelog?"),
            ("nils", "what are the opening hours?"),
            ("olga", "remember that the crane bookings are on the wall"),
            ("paul", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "customs",
        lines: &[
            ("quinn", "add a release note for the customs forms"),
            ("rosa", "write the FAQ entry about the customs forms"),
            ("stig", "show disk usage"),
            ("tess", "which mail account does the service use?"),
            ("quinn", "what changed in the changelog?"),
            ("rosa", "what are the opening hours?"),
            ("stig", "remember that the customs forms are on the wall"),
            ("tess", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "docs",
        lines: &[
            ("uma", "add a release note for the printed guide"),
            ("vito", "write the FAQ entry about the printed guide"),
            ("wanda", "rotate the log"),
            ("xeno", "remember that the printed guide change on Monday"),
            ("uma", "what changed in the changelog?"),
            ("vito", "what are the opening hours?"),
            ("wanda", "remember that the printed guide are on the wall"),
            ("xeno", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "ferries",
        lines: &[
            ("yara", "add a release note for the winter timetable"),
            ("zeno", "write the FAQ entry about the winter timetable"),
            ("anouk", "run the test script"),
            ("bela", "run the test script"),
            ("yara", "what changed in the changelog?"),
            ("zeno", "what are the opening hours?"),
            (
                "anouk",
                "remember that the winter timetable are on the wall",
            ),
            ("bela", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "night-watch",
        lines: &[
            ("carlo", "add a release note for the lock times"),
            ("dita", "write the FAQ entry about the lock times"),
            ("egon", "show disk usage"),
            ("filip", "add a release note for the lock times in print"),
            ("carlo", "what changed in the changelog?"),
            ("dita", "what are the opening hours?"),
            ("egon", "remember that the lock times are on the wall"),
            ("filip", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "office",
        lines: &[
            ("greta", "add a release note for the contact page"),
            ("hugo", "write the FAQ entry about the contact page"),
            ("iris", "rotate the log"),
            ("jens", "which mail account does the service use?"),
            ("greta", "what changed in the changelog?"),
            ("hugo", "what are the opening hours?"),
            ("iris", "remember that the contact page are on the wall"),
            ("jens", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "pilots",
        lines: &[
            ("karin", "add a release note for the pilot roster"),
            ("lars", "write the FAQ entry about the pilot roster"),
            ("mona", "run the test script"),
            ("nico", "remember that the pilot roster change on Monday"),
            ("karin", "what changed in the changelog?"),
            ("lars", "what are the opening hours?"),
            ("mona", "remember that the pilot roster are on the wall"),
            ("nico", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "tides",
        lines: &[
            ("oda", "add a release note for the tide tables"),
            ("piet", "write the FAQ entry about the tide tables"),
            ("rhea", "show disk usage"),
            ("sven", "run the test script"),
            ("oda", "what changed in the changelog?"),
            ("piet", "what are the opening hours?"),
            ("rhea", "remember that the tide tables are on the wall"),
            ("sven", "list the files"),
        ],
        auto_approve: &[],
    },
    DemoChannel {
        name: "yard",
        lines: &[
            ("tilda", "add a release note for the slip rota"),
            ("ugo", "write the FAQ entry about the slip rota"),
            ("vera", "rotate the log"),
            ("wim", "add a release note for the slip rota in print"),
            ("tilda", "what changed in the changelog?"),
            ("ugo", "what are the opening hours?"),
            ("vera", "remember that the slip rota are on the wall"),
            ("wim", "list the files"),
        ],
        auto_approve: &[],
    },
];

/// The channels of the demo of a fleet.
pub fn fleet_visitors() -> &'static [DemoChannel] {
    FLEET
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
        ".env",
        "SMTP_USER=harbour@mail.example\nSMTP_PASSWORD=not-a-real-password\n",
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
