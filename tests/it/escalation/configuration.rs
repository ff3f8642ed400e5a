//! What cannot be used is named with its file, line and key, and with the fix.

use crate::support::daemon::Home;

const PEOPLE: &str = "[people.anna]\nids = [\"telegram:1\"]\nrole = \"approver\"\n\n\
                      [people.ben]\nids = [\"telegram:2\"]\nrole = \"user\"\n\n";

fn said(config: &str) -> String {
    let home = Home::new(&format!("{PEOPLE}{config}"));
    let output = home.command().arg("doctor").output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn steps(steps: &str) -> String {
    said(&format!("[escalation.night]\nsteps = [{steps}]\n"))
}

#[test]
fn what_reaches_nobody_is_named_with_the_fix() {
    let step = |to: &str| format!("{{ after = \"5m\", to = \"{to}\" }}");
    for (text, wanted) in [
        (steps(""), "1 to 20, for example [{ after"),
        (
            steps("{ after = \"soon\", to = \"on-call\" }"),
            "step 1: after = \"soon\" cannot be used; expected a time up to 7d",
        ),
        (
            steps("{ after = \"5m\", to = \"on-call\" }, { after = \"5m\", to = \"on-call\" }"),
            "step 2: after = \"5m\" is not later than the step before",
        ),
        (steps(&step("on-cal")), "did you mean `on-call`?"),
        (steps(&step("person:ana")), "there is nobody called `ana`"),
        (
            steps(&step("person:ben")),
            "Set role = \"approver\" under [people.ben]",
        ),
        (
            steps(&step("webhook:pager")),
            "Add [channels.pager] with kind = \"webhook\"",
        ),
        (
            steps(&step("ntfy:https://ntfy.example")),
            "the address names no topic",
        ),
        (
            steps("{ after = \"5m\", to = \"on-call\", token_env = \"X\" }"),
            "`on-call` takes no token",
        ),
        (
            said(
                "[channels.api]\nescalation = \"nigth\"\n\n[escalation.night]\nsteps = [{ after = \"5m\", to = \"on-call\" }]\n",
            ),
            "did you mean `night`?",
        ),
        (
            said(
                "[people.cleo]\nids = [\"telegram:3\"]\nrole = \"approver\"\n\n[channels.api]\nescalation = \"night\"\n\
                 approvers = [\"cleo\"]\n\n[escalation.night]\nsteps = [{ after = \"5m\", to = \"person:anna\" }]\n",
            ),
            "`night` asks anna, who decides nothing here",
        ),
    ] {
        assert!(text.contains(wanted), "wanted {wanted}: {text}");
        assert!(text.contains("config.toml:"), "{text}");
    }
}
