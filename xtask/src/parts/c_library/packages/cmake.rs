//! The Zephyr module and the ESP-IDF component. Neither Zephyr nor ESP-IDF is in a registry that
//! the tests reach: stand-ins have the functions of their build systems that the packages call.
//! ESP-IDF's component manager is the real one; a script checks `module.yml` as Zephyr's
//! `zephyr_module.py` does.

use super::Package;
use super::builds::Customer;
use crate::helpers::report::Report;
use crate::parts::c_library::test_folder;
use crate::parts::firmware::Target;

#[rustfmt::skip]
pub(super) const ZEPHYR: Package = Package {
    name: "zephyr",
    has: |_| true,
    choice: kconfig,
    build: |build| Ok(build.by_cmake("zephyr", &definitions(build.choice))),
    check: check_zephyr,
    refused: &[
        ("ARCH=arm ARM GCC_M_CPU=cortex-m23 CPU_CORTEX_M23", "", "cortex-m23"),
        ("ARCH=arm ARM GCC_M_CPU=cortex-r5 CPU_CORTEX_R5 FPU FP_HARDABI", "", "cortex-r5 with hard-float calls"),
        ("ARCH=riscv RISCV RISCV_ISA_RV32I RISCV_ISA_EXT_M RISCV_ISA_EXT_A RISCV_ISA_EXT_C FLOAT_HARD", "", "rv32imac with hard-float calls"),
        ("ARCH=riscv RISCV 64BIT RISCV_ISA_EXT_M RISCV_ISA_EXT_A RISCV_ISA_EXT_C", "", "rv64imac"),
        ("ARCH=xtensa XTENSA", "", "xtensa"),
    ],
};

#[rustfmt::skip]
pub(super) const ESP_IDF: Package = Package {
    name: "esp-idf",
    has: |target| target.name.starts_with("riscv32"),
    choice: |target| if target.name.starts_with("riscv32imc-") { "esp32c3" } else { "esp32c6" },
    build: |build| Ok(build.by_cmake("esp-idf", &[format!("-DIDF_TARGET={}", build.choice)])),
    check: check_esp_idf,
    refused: &[("esp32", "", "esp32"), ("esp32s3", "", "esp32s3"), ("esp32p4", "", "esp32p4")],
};

/// What Kconfig says: names of options that are set, without `CONFIG_`, and variables of the build
/// system.
fn kconfig(target: &Target) -> &'static str {
    match target.name {
        "thumbv6m-none-eabi" => "ARCH=arm ARM GCC_M_CPU=cortex-m0plus CPU_CORTEX_M0PLUS",
        "thumbv7m-none-eabi" => "ARCH=arm ARM GCC_M_CPU=cortex-m3 CPU_CORTEX_M3",
        // The unit is there, and calls are those of software.
        "thumbv7em-none-eabi" => "ARCH=arm ARM GCC_M_CPU=cortex-m4 CPU_CORTEX_M4 FPU FP_SOFTABI",
        "thumbv7em-none-eabihf" => "ARCH=arm ARM GCC_M_CPU=cortex-m7 CPU_CORTEX_M7 FPU FP_HARDABI",
        "thumbv8m.main-none-eabi" => "ARCH=arm ARM GCC_M_CPU=cortex-m33+nodsp CPU_CORTEX_M33",
        "thumbv8m.main-none-eabihf" => {
            "ARCH=arm ARM GCC_M_CPU=cortex-m33 CPU_CORTEX_M33 FPU FP_HARDABI"
        }
        "riscv32imc-unknown-none-elf" => {
            "ARCH=riscv RISCV RISCV_ISA_RV32I RISCV_ISA_EXT_M RISCV_ISA_EXT_C"
        }
        _ => "ARCH=riscv RISCV RISCV_ISA_RV32I RISCV_ISA_EXT_M RISCV_ISA_EXT_A RISCV_ISA_EXT_C",
    }
}

fn definitions(kconfig: &str) -> Vec<String> {
    let words = kconfig.split(' ').chain(["RANDFLAKE"]);
    words
        .map(|word: &str| match word.split_once('=') {
            Some(_) => format!("-D{word}"),
            None => format!("-DCONFIG_{word}=y"),
        })
        .collect()
}

fn check_zephyr(report: &mut Report, customer: &Customer<'_>) {
    let mut module = customer.tool("python");
    module
        .arg(test_folder().join("packages/zephyr/module.py"))
        .arg(customer.package());
    report.check("the module's module.yml and Kconfig", &mut module);
}

fn check_esp_idf(report: &mut Report, customer: &Customer<'_>) {
    for arguments in ["manifest lint", "component pack --name randflake"] {
        let mut compote = customer.tool("compote");
        compote
            .arg("--warnings-as-errors")
            .args(arguments.split(' '))
            .current_dir(customer.package());
        report.check(&format!("compote {arguments}"), &mut compote);
    }
}
