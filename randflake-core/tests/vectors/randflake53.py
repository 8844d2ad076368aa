"""Makes randflake53.json: ids of 53 bits, from the papers and standards alone, with nothing of this project's code.

SPARX-64/128 as in Dinu et al., ASIACRYPT 2016; HKDF-SHA256 as in RFC 5869; the network as in FF1 of NIST SP 800-38G, with
another round function and number of rounds. Run it without arguments: it prints the file.
"""

import hashlib
import hmac
import json
import random

ROUNDS = 26
LEFT, RIGHT = 26, 27
EPOCH = 1_730_000_000


def rotated(word, by):
    return (word << by | word >> 16 - by) & 0xFFFF


def arx_box(x, y):
    x = rotated(x, 9) + y & 0xFFFF
    return x, rotated(y, 2) ^ x


def subkeys(key):
    words = [int.from_bytes(key[i : i + 2], "big") for i in range(0, 16, 2)]
    for count in range(1, 18):
        yield list(words[:6])
        words[0], words[1] = arx_box(words[0], words[1])
        words[2] = words[2] + words[0] & 0xFFFF
        words[3] = words[3] + words[1] & 0xFFFF
        words[7] = words[7] + count & 0xFFFF
        words = words[6:] + words[:6]


def sparx(key, block):
    """Encrypts eight bytes."""
    x = [int.from_bytes(block[i : i + 2], "big") for i in range(0, 8, 2)]
    keys = list(subkeys(key))
    for step in range(8):
        for branch in (0, 2):
            step_keys = keys[2 * step + branch // 2]
            for round in range(3):
                x[branch] ^= step_keys[2 * round]
                x[branch + 1] ^= step_keys[2 * round + 1]
                x[branch], x[branch + 1] = arx_box(x[branch], x[branch + 1])
        mixed = rotated(x[0] ^ x[1], 8)
        x = [x[2] ^ x[0] ^ mixed, x[3] ^ x[1] ^ mixed, x[0], x[1]]
    x = [word ^ key_word for word, key_word in zip(x, keys[16])]
    return b"".join(word.to_bytes(2, "big") for word in x)


def hkdf(secret, info, length):
    """Without salt, of at most one block."""
    extracted = hmac.digest(bytes(32), secret, hashlib.sha256)
    return hmac.digest(extracted, info + b"\x01", hashlib.sha256)[:length]


def number_key(secret):
    return hkdf(secret, b"randflake53", 16)


def function(key, round, half):
    """The round function: the block is a number of 64 bits in little-endian order, and so is the output."""
    tag = bytes([ord("F"), ROUNDS, LEFT, RIGHT])
    block = int.from_bytes(tag, "big") << 32 | round << 27 | half
    return int.from_bytes(sparx(key, block.to_bytes(8, "little")), "little")


def encrypt(key, raw):
    a, b = divmod(raw, 2**RIGHT)
    for round in range(ROUNDS):
        width = LEFT if round % 2 == 0 else RIGHT
        a, b = b, (a + function(key, round, b)) % 2**width
    return a * 2**RIGHT + b


def decrypt(key, number):
    a, b = divmod(number, 2**RIGHT)
    for round in reversed(range(ROUNDS)):
        width = LEFT if round % 2 == 0 else RIGHT
        a, b = (b - function(key, round, a)) % 2**width, a
    return a * 2**RIGHT + b


def text(number):
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 32)
        digits = "0123456789abcdefghijklmnopqrstuv"[digit] + digits
    return digits


def check():
    key = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert sparx(key, bytes.fromhex("0123456789abcdef")).hex() == "2bbef15201f55f98"
    # RFC 5869, A.3.
    assert hkdf(b"\x0b" * 22, b"", 32).hex() == (
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
    )


def vectors():
    source = random.Random(53)
    edges = [0, 1, 2**13 - 1, 2**13, 2**23 - 1, 2**23, 2**26, 2**27 - 1, 2**27, 2**52, 2**53 - 1]
    secrets = [bytes(16), bytes.fromhex("dffd6021bb2bd5b0af676290809ec3a5"), source.randbytes(16)]
    for secret in secrets:
        key = number_key(secret)
        for raw in edges + [source.getrandbits(53) for _ in range(9)]:
            number = encrypt(key, raw)
            assert decrypt(key, number) == raw
            yield {
                "secret": secret.hex(),
                "key": key.hex(),
                "timestamp": EPOCH + (raw >> 23),
                "node_id": raw >> 13 & 1023,
                "sequence": raw & 8191,
                "raw_id": raw,
                "id": number,
                "text": text(number),
            }


check()
if __name__ == "__main__":
    print("[\n " + ",\n ".join(json.dumps(vector) for vector in vectors()) + "\n]")
