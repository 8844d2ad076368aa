//! What is measured: the images of `randflake-embedded/firmware/size`, where and how they are built.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::cargo;
use crate::qemu::{target_folder, workspace};

/// An image, by the name of its program, and what it holds.
pub(super) struct Image {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// Only where a processor has compare-and-swap.
    needs_compare_and_swap: bool,
}

const fn image(name: &'static str, what: &'static str) -> Image {
    Image {
        name,
        what,
        needs_compare_and_swap: false,
    }
}

/// What an image has of which nothing is measured.
pub(super) const EMPTY: &str = "empty";

pub(super) const IMAGES: &[Image] = &[
    image("cipher_table", "block, key table"),
    image("cipher_on_the_fly", "block, keys on the fly"),
    image("key_schedule", "making the key table"),
    image(
        "generate_table_masked",
        "`generate`, table, critical section",
    ),
    image(
        "generate_ok_masked",
        "`generate().ok()`, on the fly, critical section",
    ),
    image(
        "generate_kind_masked",
        "`generate().map_err(GenerateError::kind)`, on the fly, critical section",
    ),
    image(
        "generate_on_the_fly_masked",
        "`generate`, on the fly, critical section",
    ),
    image(
        "generate_key_in_flash_masked",
        "`generate`, on the fly, key in flash, critical section",
    ),
    Image {
        needs_compare_and_swap: true,
        ..image("generate_table_native", "`generate`, table, native atomic")
    },
    Image {
        needs_compare_and_swap: true,
        ..image(
            "generate_on_the_fly_native",
            "`generate`, on the fly, native atomic",
        )
    },
    image(
        "generate_ticks_masked",
        "`generate`, on the fly, `UnixClock` over `Uptime` of 32,768 Hz, critical section",
    ),
    image(
        "generate_ticks_1_khz",
        "`generate`, on the fly, `UnixClock` over `Uptime` of 1 kHz, critical section",
    ),
    image(
        "generate_ticks_1_mhz",
        "`generate`, on the fly, `UnixClock` over `Uptime` of 1 MHz, critical section",
    ),
    image(
        "generate_ticks_64_mhz",
        "`generate`, on the fly, `UnixClock` over `Uptime` of 64 MHz, critical section",
    ),
    image("lane_table", "`Lane`, table"),
    image("lane_on_the_fly", "`Lane`, on the fly"),
    image("lane_key_in_flash", "`Lane`, on the fly, key in flash"),
    image("horizon", "`FlashHorizon`: open and raise"),
    image("horizon_open", "`FlashHorizon`: open alone"),
    image(
        "horizon_16",
        "`FlashHorizon`, slots of 16 bytes: open and raise",
    ),
    image(
        "horizon_32",
        "`FlashHorizon`, slots of 32 bytes: open and raise",
    ),
    image("blocks", "`Blocks` over `FlashHorizon`: open and begin"),
    image("ticket", "`TicketReader::accept`"),
    image("text", "`id_string`"),
    image("text_parse", "an id parsed"),
];

/// Without these the compiler's library stands in for what the processor lacks.
const NO_COMPARE_AND_SWAP: [&str; 2] = ["thumbv6m-none-eabi", "riscv32imc-unknown-none-elf"];

pub(super) fn of_target(target: &str) -> impl Iterator<Item = &'static Image> {
    let lacks = NO_COMPARE_AND_SWAP.contains(&target);
    IMAGES
        .iter()
        .filter(move |image| !(image.needs_compare_and_swap && lacks))
}

/// How the compiler optimises, and the profile that says so.
pub(super) struct Level {
    pub(super) name: &'static str,
    pub(super) profile: &'static str,
    /// If not, it is measured when asked for. `Oz` makes every call slower than `Os`, and the cipher larger.
    pub(super) is_usual: bool,
}

pub(super) const LEVELS: [Level; 3] = [
    Level {
        name: "Os",
        profile: "release",
        is_usual: true,
    },
    Level {
        name: "Oz",
        profile: "oz",
        is_usual: false,
    },
    Level {
        name: "O3",
        profile: "o3",
        is_usual: true,
    },
];

/// What cargo does with images that hold what is measured. With the feature `run` they also call it.
pub(super) fn command(what: &str, target: &str, level: &Level, names: &[&str]) -> Command {
    let mut command = cargo(&[what, "--locked", "--package", "size"]);
    command
        .args(["--profile", level.profile, "--target", target])
        .args(names.iter().flat_map(|name| ["--bin", name]))
        .current_dir(workspace())
        .env("CARGO_TARGET_DIR", target_folder());
    command
}

/// Where an image was built.
pub(super) fn file(target: &str, level: &Level, name: &str) -> PathBuf {
    target_folder().join(target).join(level.profile).join(name)
}
