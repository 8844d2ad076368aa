"""Makes tagged.json: UUIDs with a key number and a tag, from the paper and the standards alone, with nothing of this
project's code.

The cipher and HKDF-SHA256 (RFC 5869) are those of randflake53.py beside it, which checks them; the UUID's fields as in RFC
9562, section 5.8. Run it without arguments: it prints the file.
"""

import json
import random
import uuid

from randflake53 import hkdf, sparx


def tag_key(secret, number, namespace):
    return hkdf(secret, b"randflake-tag" + bytes([number]) + namespace.encode("ascii"), 16)


def tag(key, id):
    """The upper 52 of 64 bits: the block is a number in little-endian order, and so is the output."""
    return int.from_bytes(sparx(key, id.to_bytes(8, "little")), "little") >> 12


def tagged(id, number, tag):
    fields = [(id >> 16, 48), (8, 4), (id >> 4 & 0xFFF, 12), (0b10, 2), (id & 0xF, 4), (number, 6), (tag, 52)]
    bits = 0
    for value, width in fields:
        assert value < 1 << width
        bits = bits << width | value
    made = uuid.UUID(int=bits)
    assert (made.version, made.variant) == (8, uuid.RFC_4122)
    return made


def vectors():
    source = random.Random(122)
    edges = [0, 1, 0xF, 0x10, 0xFFFF, 0x10000, 2**63 - 1, 2**63, 2**64 - 1]
    numbers = [1, 2, 17, 32, 62, 63]
    # Of one character, of all kinds of characters, and the longest that is allowed.
    namespaces = ["orders", "a", "tenant_7-eu", "n" * 64]
    secrets = [bytes(16), bytes.fromhex("dffd6021bb2bd5b0af676290809ec3a5"), source.randbytes(16)]
    for index in range(64):
        secret = secrets[index % 3]
        number = numbers[index % len(numbers)] if index < 48 else source.randint(1, 63)
        namespace = namespaces[index // 3 % len(namespaces)]
        id = edges[index] if index < len(edges) else source.getrandbits(64)
        key = tag_key(secret, number, namespace)
        yield {
            "secret": secret.hex(),
            "namespace": namespace,
            "key_number": number,
            "tag_key": key.hex(),
            "id": id,
            "tag": tag(key, id),
            "uuid": str(tagged(id, number, tag(key, id))),
        }


print("[\n " + ",\n ".join(json.dumps(vector) for vector in vectors()) + "\n]")
