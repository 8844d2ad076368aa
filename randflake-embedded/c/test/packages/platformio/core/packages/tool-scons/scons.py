"""PlatformIO's own package of SCons, made of the one in PyPI: its registry is not reached."""

import SCons.Script

SCons.Script.main()
