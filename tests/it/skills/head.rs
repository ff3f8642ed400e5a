//! The head of a skill.

use leverframe::tools::skill_folder::head;

#[test]
fn the_head_of_a_skill_is_yaml_between_two_lines() {
    let text = "---\nname: deploy\ndescription: >\n  How we\n  deploy\nmetadata:\n  name: other\nallowed-tools: [a, b]\n---\nBody\n";
    let found = head(text).unwrap();
    assert_eq!(
        (found.name.as_str(), found.description.as_str()),
        ("deploy", "How we deploy")
    );
    for (text, said) in [
        ("# Deploy", "does not begin"),
        ("---\nname: deploy\n", "no second line"),
        ("---\nname: deploy\n---\n", "no `description`"),
        ("---\nname: Deploy\ndescription: d\n---\n", "a to z"),
        ("---\nname: [\n---\n", "no YAML"),
        ("---\nname: *x\ndescription: d\n---\n", "the head"),
    ] {
        let why = head(text).unwrap_err();
        assert!(why.contains(said), "{text:?}: {why}");
    }
}
