//! Datasets as variables of Python.

use leverframe::tools::python::load_dataset::variable_of;

#[test]
fn every_name_of_a_dataset_becomes_a_variable() {
    for (name, variable) in [
        ("sales", "sales"),
        ("sales-2026", "sales_2026"),
        ("2026", "_2026"),
    ] {
        assert_eq!(variable_of(name), variable);
    }
}
