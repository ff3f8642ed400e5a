//! A table of the console's machine becomes a dataset, is looked into, asked and removed.

use crate::console_pty::door::command;
use crate::console_pty::steps::quit;
use crate::support::daemon::Home;
use crate::support::pty::Pty;

#[test]
fn a_table_is_sent_looked_into_asked_and_removed() {
    let home = Home::new("");
    let here = home.path().join("here");
    std::fs::create_dir_all(&here).unwrap();
    std::fs::write(
        here.join("sales.csv"),
        "city,amount\nBonn,1\nUlm,2\nBonn,3\n",
    )
    .unwrap();
    let mut program = command(&home);
    program.current_dir(&here);
    let mut pty = Pty::start(&program, 120, 40);
    pty.see("nothing needs you");
    pty.send(":datasets\r");
    pty.see("No dataset yet.");
    // One that comes from elsewhere is there without a key.
    let upload = ["datasets", "upload", "sales.csv", "--channel", "api"];
    let uploaded = command(&home)
        .current_dir(&here)
        .args(upload)
        .output()
        .unwrap();
    assert!(uploaded.status.success(), "{uploaded:?}");
    pty.see("api                    3       2");
    let delete = ["datasets", "delete", "api/sales"];
    let deleted = command(&home).args(delete).output().unwrap();
    assert!(deleted.status.success(), "{deleted:?}");
    pty.see("No dataset yet.");
    pty.send(":upload desk missing.csv\r");
    pty.see("missing.csv: No such file");
    pty.send(":upload desk sales.csv\r");
    pty.see("dataset sales: 3 rows, 2 columns (city text, amount integer)");
    pty.press_until("j", "first rows");
    pty.see("amount");
    pty.send(":ask sales group city; sum amount as total; order total desc\r");
    pty.see("3 of 3 rows of the dataset fit");
    pty.press_until("\x1b", "first rows");
    pty.press_until("x", "Remove this dataset for good?");
    pty.press_until("l", "Remove");
    pty.send("\r");
    pty.see("No dataset yet.");
    assert!(!home.data().join("datasets/desk/sales.parquet").exists());
    quit(&mut pty, "stop");
    assert_eq!(pty.wait_exit(), Some(0));
}
