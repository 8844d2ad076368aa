from platformio.public import PlatformBase


class BoardsPlatform(PlatformBase):
    pass
