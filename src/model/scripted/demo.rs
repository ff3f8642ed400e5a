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

const TEST: &str = "run the test script";
const DISK: &str = "show disk usage";
const LOG: &str = "rotate the log";
const MAIL: &str = "which mail account does the service use?";

/// Channels by name and what they are about, each with its four visitors and what the last two of them ask first.
macro_rules! fleet {
    ($($name:literal, $about:literal: $a:literal, $b:literal, $c:literal, $d:literal; $third:expr, $fourth:expr;)*) => {
        &[$(DemoChannel {
            name: $name,
            lines: &[
                ($a, concat!("add a release note for ", $about)),
                ($b, concat!("write the FAQ entry about ", $about)),
                ($c, $third),
                ($d, $fourth),
                ($a, "what changed in the changelog?"),
                ($b, "what are the opening hours?"),
                ($c, concat!("remember that ", $about, " are on the wall")),
                ($d, "list the files"),
            ],
            auto_approve: &[],
        },)*]
    };
}

/// Many channels, each with four visitors who ask at once: what an operator of a whole house sees.
const FLEET: &[DemoChannel] = fleet! {
    "berths", "the harbour fees": "ada", "bram", "cleo", "dov"; TEST, MAIL;
    "billing", "the new quay": "emil", "fay", "gus", "hana"; DISK, "remember that the new quay change on Monday";
    "bookings", "the night ferry": "ines", "jules", "kaya", "leo"; LOG, TEST;
    "crew", "the crane bookings": "maud", "nils", "olga", "paul"; TEST, "add a release note for the crane bookings in print";
    "customs", "the customs forms": "quinn", "rosa", "stig", "tess"; DISK, MAIL;
    "docs", "the printed guide": "uma", "vito", "wanda", "xeno"; LOG, "remember that the printed guide change on Monday";
    "ferries", "the winter timetable": "yara", "zeno", "anouk", "bela"; TEST, TEST;
    "night-watch", "the lock times": "carlo", "dita", "egon", "filip"; DISK, "add a release note for the lock times in print";
    "office", "the contact page": "greta", "hugo", "iris", "jens"; LOG, MAIL;
    "pilots", "the pilot roster": "karin", "lars", "mona", "nico"; TEST, "remember that the pilot roster change on Monday";
    "tides", "the tide tables": "oda", "piet", "rhea", "sven"; DISK, TEST;
    "yard", "the slip rota": "tilda", "ugo", "vera", "wim"; LOG, "add a release note for the slip rota in print";
};

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
