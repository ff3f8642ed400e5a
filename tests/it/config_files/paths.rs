//! The data directory and what tools may not see.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use leverframe::config::paths::{hidden_from_tools, prepare_data_dir};
use leverframe::config::settings::Paths;

#[test]
fn a_new_data_directory_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("a/b/data");
    prepare_data_dir(&data).unwrap();
    assert_eq!(std::fs::metadata(&data).unwrap().mode() & 0o777, 0o700);
    prepare_data_dir(&data).unwrap();
}

#[test]
fn an_open_data_directory_is_closed_when_empty_and_refused_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&data, open.clone()).unwrap();
    prepare_data_dir(&data).unwrap();
    assert_eq!(std::fs::metadata(&data).unwrap().mode() & 0o777, 0o700);

    std::fs::write(data.join("file"), "").unwrap();
    std::fs::set_permissions(&data, open).unwrap();
    let error = prepare_data_dir(&data).unwrap_err().to_string();
    assert!(
        error.contains(&format!("chmod 700 {}", data.display())),
        "{error}"
    );
}

#[test]
fn links_files_and_foreign_directories_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert!(
        prepare_data_dir(&link)
            .unwrap_err()
            .to_string()
            .contains("symbolic link")
    );
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(
        prepare_data_dir(&file)
            .unwrap_err()
            .to_string()
            .contains("not a directory")
    );
    assert!(
        prepare_data_dir(&file.join("below"))
            .unwrap_err()
            .to_string()
            .contains("file/below")
    );
    // Only root can give a directory away.
    if std::os::unix::fs::chown(&real, Some(12345), None).is_ok() {
        let error = prepare_data_dir(&real).unwrap_err().to_string();
        assert!(error.contains("belongs to user id 12345"), "{error}");
    }
}

#[test]
fn tools_see_neither_data_nor_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let paths = Paths {
        config_file: root.join("etc/config.toml"),
        config_dir: root.join("etc"),
        data_dir: root.join("data"),
        runtime_dir: Some(root.join("run")),
    };
    let apart = hidden_from_tools(&paths, &root.join("work"));
    assert_eq!(
        apart,
        [root.join("data"), root.join("etc"), root.join("run")]
    );
    let below = hidden_from_tools(&paths, &root.join("etc/work"));
    let one_by_one = [
        "data",
        "etc/config.toml",
        "etc/themes",
        "etc/keymaps",
        "run",
    ];
    assert_eq!(below, one_by_one.map(|name| root.join(name)));
}
