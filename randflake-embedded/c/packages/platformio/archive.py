"""Chooses librandflake.a by what the compiler says of the processor that its options name."""

import os
import subprocess
import sys

Import("env")

# The name of an instruction set, the macro of its compiler, and the archive.
ARM = [
    ("Armv6-M", "__ARM_ARCH_6M__", "thumbv6m"),
    ("Armv7-M", "__ARM_ARCH_7M__", "thumbv7m"),
    ("Armv7E-M", "__ARM_ARCH_7EM__", "thumbv7em"),
    ("Armv8-M Mainline", "__ARM_ARCH_8M_MAIN__", "thumbv8m.main"),
    ("Armv8.1-M Mainline", "__ARM_ARCH_8_1M_MAIN__", "thumbv8m.main"),
    ("Armv8-M Baseline", "__ARM_ARCH_8M_BASE__", "thumbv8m.base"),
]


def macros():
    options = [str(option) for option in env.Flatten(env.subst_list("$CCFLAGS"))]
    command = [env.subst("$CC"), *options, "-dM", "-E", "-x", "c", "-"]
    printed = subprocess.run(command, input=b"", stdout=subprocess.PIPE, env=env["ENV"], check=True).stdout
    words = [line.split(None, 2) for line in printed.decode().splitlines()]
    return {word[1]: word[2] if len(word) > 2 else "" for word in words}


def wanted(macros):
    """The processor in words, and its target; without one if none can be named."""
    if "__riscv" in macros:
        isa = macros["__riscv_xlen"] + ("e" if "__riscv_32e" in macros else "i")
        for letter, macro in [("m", "__riscv_mul"), ("a", "__riscv_atomic"), ("c", "__riscv_compressed")]:
            isa += letter if macro in macros else ""
        if "__riscv_float_abi_soft" in macros:
            return "rv" + isa, "riscv" + isa + "-unknown-none-elf"
        return "rv" + isa + " with hard-float calls", None
    for name, macro, target in ARM:
        if macro in macros:
            hard = "__ARM_PCS_VFP" in macros
            return name + (" with hard-float calls" if hard else ""), target + "-none-eabi" + ("hf" if hard else "")
    return env.get("BOARD_MCU") or os.path.basename(env.subst("$CC")), None


# SCons runs this without `__file__`.
package = str(Dir(".").srcnode().abspath)
archives = os.path.join(package, "lib")
processor, target = wanted(macros())
if target not in os.listdir(archives):
    listed = ", ".join(sorted(os.listdir(archives)))
    sys.exit("randflake has no archive for %s. It has: %s." % (processor, listed))
env.Append(LIBPATH=[os.path.join(archives, target)], LIBS=["randflake"])
