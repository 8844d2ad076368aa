//! The ESP-IDF component. ESP-IDF itself is in no registry that the tests reach: a stand-in has the functions of its build
//! system that the component calls. Its component manager is the real one.

use super::builds::Customer;
use super::{Package, RefusedTarget};
use crate::helpers::report::Report;

pub(super) const PACKAGE: Package = Package {
    name: "esp-idf",
    has: |target| target.name.starts_with("riscv32"),
    choice: |target| match target.name {
        "riscv32imc-unknown-none-elf" => "esp32c3",
        _ => "esp32c6",
    },
    build: |build| Ok(build.by_cmake("esp-idf", &[format!("-DIDF_TARGET={}", build.choice)])),
    check,
    refused: &[refusal("esp32"), refusal("esp32s3"), refusal("esp32p4")],
};

const fn refusal(chip: &'static str) -> RefusedTarget {
    RefusedTarget {
        choice: chip,
        options: &[],
        named: chip,
    }
}

fn check(report: &mut Report, customer: &Customer<'_>) {
    for arguments in ["manifest lint", "component pack --name randflake"] {
        let mut compote = customer.tool("compote");
        compote
            .arg("--warnings-as-errors")
            .args(arguments.split(' '))
            .current_dir(customer.package());
        report.check(&format!("compote {arguments}"), &mut compote);
    }
}
