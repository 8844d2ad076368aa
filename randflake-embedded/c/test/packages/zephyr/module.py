"""Checks a Zephyr module as Zephyr's zephyr_module.py and Kconfig do: known keys, and files where they say."""

import pathlib
import sys

import kconfiglib
import yaml

module = pathlib.Path(sys.argv[1])
meta = yaml.safe_load((module / "zephyr/module.yml").read_text())
assert set(meta) == {"name", "build"}, meta
assert set(meta["build"]) == {"cmake", "kconfig"}, meta
assert (module / meta["build"]["cmake"] / "CMakeLists.txt").is_file()
options = kconfiglib.Kconfig(str(module / meta["build"]["kconfig"]))
option = options.syms["RANDFLAKE"]
assert option.str_value == "n" and option.assignable, option
