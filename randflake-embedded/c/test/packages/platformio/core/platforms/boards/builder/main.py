"""The development platform of the emulated boards. The project says what other platforms know of their boards."""

from SCons.Script import Default, DefaultEnvironment

env = DefaultEnvironment()
option = env.GetProjectOption
env.Replace(
    BOARD_MCU=option("custom_mcu"),
    CC=option("custom_cc"),
    LINK=option("custom_link"),
    LINKCOM="$LINK $LINKFLAGS $SOURCES $_LIBDIRFLAGS $_LIBFLAGS -o $TARGET",
)
env.Append(CCFLAGS=option("custom_ccflags").split(), LINKFLAGS=option("custom_linkflags").split())
Default(env.BuildProgram())
