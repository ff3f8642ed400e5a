//! What a command names is bound in its plan: a file that changed makes another plan.

use serde_json::{Value, json};

use crate::support::daemon::Home;
use crate::tools::harness::Bench;

fn bench() -> Bench {
    let bench = Bench::new();
    for path in [
        "f",
        "run.vim",
        "scripts/a.sh",
        "scripts/b.sh",
        "sub/f.sh",
        "with space.sh",
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/hooks/pre-push.sample",
        "x=1",
    ] {
        bench.put(path, "echo one\n");
    }
    std::fs::create_dir(bench.workspace.join("empty")).unwrap();
    bench
}

fn exists(program: &str) -> bool {
    ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .any(|directory| std::path::Path::new(directory).join(program).exists())
}

#[test]
fn every_word_that_names_a_file_is_bound() {
    let bench = bench();
    let cases: [(Value, &[&str]); 20] = [
        (
            json!({"argv": ["find", ".", "-exec", "sh", "f", "{}", ";"]}),
            &["f"],
        ),
        (json!({"argv": ["bash"], "stdin": "sh f\n"}), &["f"]),
        (
            json!({"argv": ["sh"], "stdin": ". ./sub/f.sh"}),
            &["sub/f.sh"],
        ),
        (json!({"argv": ["cat", "f"]}), &["f"]),
        (
            json!({"argv": ["git", "-c", "alias.x=!sh f", "x"]}),
            &["f", ".git/config", ".git/hooks/pre-commit"],
        ),
        (
            json!({"argv": ["git", "st"]}),
            &[".git/config", ".git/hooks/pre-commit"],
        ),
        (
            json!({"argv": ["git", "st"], "cwd": "sub"}),
            &[".git/config"],
        ),
        (json!({"argv": ["vim", "-S", "run.vim"]}), &["run.vim"]),
        (json!({"argv": ["vim", "-Srun.vim"]}), &["run.vim"]),
        (
            json!({"argv": ["vim", "-c", "source run.vim"]}),
            &["run.vim"],
        ),
        (
            json!({"script": "for f in scripts/*.sh; do sh $f; done"}),
            &["scripts/a.sh", "scripts/b.sh"],
        ),
        (
            json!({"script": "sh */[ab].sh"}),
            &["scripts/a.sh", "scripts/b.sh"],
        ),
        (
            json!({"argv": ["sh", "-c", "./scripts/?.sh"]}),
            &["scripts/a.sh", "scripts/b.sh"],
        ),
        (json!({"script": "cd sub && sh f.sh"}), &["sub/f.sh"]),
        (
            json!({"argv": ["env", "-C", "sub", "sh", "f.sh"]}),
            &["sub/f.sh"],
        ),
        (json!({"script": "sh 'with space.sh'"}), &["with space.sh"]),
        (json!({"script": "sh with\\ space.sh"}), &["with space.sh"]),
        (json!({"script": "sh su\"b/f\".sh"}), &["sub/f.sh"]),
        (
            json!({"argv": ["env", "PATH=empty:sub/f.sh", "true"]}),
            &["sub/f.sh"],
        ),
        (json!({"argv": ["cat", "@f", "x=1"]}), &["f", "x=1"]),
    ];
    for (args, files) in cases {
        let program = args["argv"][0].as_str().unwrap_or("sh").to_owned();
        if !exists(&program) {
            eprintln!("SKIPPED, NOT PASSED: there is no {program}");
            continue;
        }
        let plan = bench.prepare("execute_command", args.clone()).unwrap();
        for file in files {
            assert!(
                plan.facts.bound.iter().any(|name| name == file),
                "{args}: {:?}",
                plan.facts.bound
            );
            bench.put(file, "echo two\n");
            let changed = bench.prepare("execute_command", args.clone()).unwrap();
            assert_ne!(plan.operands, changed.operands, "{args}: {file}");
            bench.put(file, "echo one\n");
        }
        assert!(
            !plan
                .facts
                .bound
                .iter()
                .any(|name| name.ends_with(".sample")),
            "{args}"
        );
        let back = bench.prepare("execute_command", args.clone()).unwrap();
        assert_eq!(plan, back, "{args}");
        assert_eq!(plan.facts.unbound, None, "{args}");
        let said = plan.facts.binding().unwrap();
        assert!(
            said.contains("files that these include, and files of directories, are not bound"),
            "{said}"
        );
    }
}

#[test]
fn a_file_that_a_program_prefers_counts_before_it_is_there() {
    let bench = bench();
    if !exists("make") {
        eprintln!("SKIPPED, NOT PASSED: there is no make");
        return;
    }
    bench.put("Makefile", "all:\n");
    let args = json!({"argv": ["make"]});
    let before = bench.prepare("execute_command", args.clone()).unwrap();
    assert_eq!(before.facts.bound, ["Makefile"]);
    bench.put("GNUmakefile", "all:\n\trm -r .\n");
    let after = bench.prepare("execute_command", args).unwrap();
    assert_ne!(before.operands, after.operands);
}

#[test]
fn a_file_that_appears_after_the_question_makes_another_call() {
    let bench = bench();
    for (args, file) in [
        (json!({"argv": ["sh", "later.sh"]}), "later.sh"),
        (
            json!({"argv": ["sh"], "stdin": "sh ./later.sh"}),
            "later.sh",
        ),
        (json!({"script": "cd sub; sh sub/later.sh"}), "sub/later.sh"),
        (
            json!({"argv": ["sh", "later.sh"], "cwd": "sub"}),
            "sub/later.sh",
        ),
    ] {
        let before = bench.prepare("execute_command", args.clone()).unwrap();
        assert!(
            !before.facts.bound.iter().any(|name| name == file),
            "a card lists what is there: {:?}",
            before.facts.bound
        );
        bench.put(file, "rm -r .\n");
        let after = bench.prepare("execute_command", args.clone()).unwrap();
        assert_ne!(before.operands, after.operands, "{args}");
        std::fs::remove_file(bench.workspace.join(file)).unwrap();
        let again = bench.prepare("execute_command", args.clone()).unwrap();
        assert_eq!(before, again, "{args}");
    }
    // Many words are no reason to ask: those that name nothing are left out.
    let words: Vec<String> = (0..200).map(|n| format!("word{n}")).collect();
    let args = json!({"argv": ["cat"], "stdin": words.join(" ")});
    let plan = bench.prepare("execute_command", args).unwrap();
    assert_eq!(plan.facts.unbound, None);
    assert_eq!(plan.operands.len(), 64);
}

#[test]
fn what_is_not_bound_any_more_is_said() {
    let bench = bench();
    for n in 0..70 {
        bench.put(&format!("many/{n}.sh"), "x");
    }
    let plan = bench
        .prepare("execute_command", json!({"script": "cat many/*.sh"}))
        .unwrap();
    assert_eq!(plan.facts.bound.len(), 64);
    assert!(
        plan.facts
            .unbound
            .as_ref()
            .unwrap()
            .contains("more than 64 files")
    );
    assert!(plan.facts.binding().unwrap().contains("more than 64 files"));
    // A pattern that no shell expands names nothing.
    let plan = bench
        .prepare(
            "execute_command",
            json!({"argv": ["find", "many", "-name", "*.sh"]}),
        )
        .unwrap();
    assert_eq!((plan.facts.bound.len(), plan.facts.unbound), (0, None));
    let many: Vec<String> = (0..5000).map(|n| format!("w{n}")).collect();
    let plan = bench
        .prepare(
            "execute_command",
            json!({"argv": ["cat"], "stdin": many.join(" ")}),
        )
        .unwrap();
    assert!(plan.facts.unbound.unwrap().contains("more than 4096 words"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_cannot_be_bound_is_covered_by_no_rule_and_a_card_lists_what_is() {
    let home = Home::new("");
    let daemon = home.daemon();
    let put = |name: &str| std::fs::write(home.workspace("api").join(name), "x\n").unwrap();
    let names: Vec<String> = (0..70).map(|n| format!("n{n}")).collect();
    for name in &names {
        put(name);
    }
    let rule = json!({ "tool": "execute_command", "matcher": "prefix", "value": "tac" });
    daemon.post("/v1/rules", rule).await;
    let ask = async |names: &[String]| {
        let mut argv = vec!["tac".to_owned()];
        argv.extend_from_slice(names);
        let args: String = json!({ "argv": argv })
            .to_string()
            .bytes()
            .fold(String::new(), |text, byte| format!("{text}%{byte:02x}"));
        let path = format!("/v1/rules/test?tool=execute_command&args={args}&channel=api");
        let test = daemon.get(&path).await;
        (test["matching"].as_array().unwrap().len(), test)
    };
    let few = ask(&names[..3]).await;
    assert_eq!(few.0, 1, "{}", few.1);
    let many = ask(&names).await;
    assert_eq!(many.0, 0, "{}", many.1);

    let session = daemon.session().await;
    daemon
        .send(
            &session,
            "TOOL:execute_command{\"argv\":[\"sort\",\"n1\",\"n2\"]}\nSAY:done",
        )
        .await;
    let asked = daemon.wait_approval().await;
    assert_eq!(asked["plan"]["bound"], json!(["n1", "n2"]), "{asked}");
    let id = asked["id"].as_str().unwrap();
    let shown = home
        .command()
        .args(["approvals", "show", id])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("bound     n1, n2; files that these include"),
        "{shown}"
    );
}
