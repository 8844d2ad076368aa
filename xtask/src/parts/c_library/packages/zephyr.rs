//! The Zephyr module. Zephyr itself is in no registry that the tests reach: a stand-in has the functions of its build
//! system that the module calls, and a script checks `module.yml` as Zephyr's `zephyr_module.py` does.

use super::builds::Customer;
use super::{Package, RefusedTarget};
use crate::helpers::report::Report;
use crate::parts::c_library::test_folder;
use crate::parts::qemu::Target;

pub(super) const PACKAGE: Package = Package {
    name: "zephyr",
    has: |_| true,
    choice: kconfig,
    build: |build| Ok(build.by_cmake("zephyr", &definitions(build.choice))),
    check,
    refused: &[
        refusal(
            "cortex-m23",
            "ARCH=arm ARM GCC_M_CPU=cortex-m23 CPU_CORTEX_M23",
        ),
        refusal(
            "cortex-r5 with hard-float calls",
            "ARCH=arm ARM GCC_M_CPU=cortex-r5 CPU_CORTEX_R5 FPU FP_HARDABI",
        ),
        refusal(
            "rv32imac with hard-float calls",
            "ARCH=riscv RISCV RISCV_ISA_RV32I RISCV_ISA_EXT_M RISCV_ISA_EXT_A RISCV_ISA_EXT_C FLOAT_HARD",
        ),
        refusal(
            "rv64imac",
            "ARCH=riscv RISCV 64BIT RISCV_ISA_EXT_M RISCV_ISA_EXT_A RISCV_ISA_EXT_C",
        ),
        refusal("xtensa", "ARCH=xtensa XTENSA"),
    ],
};

const fn refusal(named: &'static str, choice: &'static str) -> RefusedTarget {
    RefusedTarget {
        choice,
        options: &[],
        named,
    }
}

/// What Kconfig says: names of options that are set, without `CONFIG_`, and variables of the build system.
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
    let definition = |word: &str| match word.split_once('=') {
        Some(_) => format!("-D{word}"),
        None => format!("-DCONFIG_{word}=y"),
    };
    words.map(definition).collect()
}

fn check(report: &mut Report, customer: &Customer<'_>) {
    let mut module = customer.tool("python");
    module
        .arg(test_folder().join("packages/zephyr/module.py"))
        .arg(customer.package());
    report.check("the module's module.yml and Kconfig", &mut module);
}
