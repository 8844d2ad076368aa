"""Makes tickets53.json: tickets of leases of 53-bit ids, from the standards alone, with nothing of this project's code.

CMAC is as in NIST SP 800-38B, of three whole blocks, over the cipher of randflake53.py beside it. Before it prints the file, it
makes the tickets of tickets.json anew, which were made with another program. Run it without arguments.
"""

import json
import pathlib
import random

from randflake53 import sparx

EPOCH = 1_730_000_000


def cmac(key, message):
    zeros = int.from_bytes(sparx(key, bytes(8)), "big")
    subkey = zeros << 1 & 2**64 - 1 ^ (0x1B if zeros >> 63 else 0)
    tag = bytes(8)
    for at in range(0, 24, 8):
        block = int.from_bytes(message[at : at + 8], "big") ^ int.from_bytes(tag, "big")
        if at == 16:
            block ^= subkey
        tag = sparx(key, block.to_bytes(8, "big"))
    return tag


def ticket(version, vector):
    widths = [("node_id", 3), ("counter", 4), ("device_id", 8), ("start_unix_s", 4), ("end_unix_s", 4)]
    device = {**vector, "device_id": int(vector["device_id"], 16)}
    body = bytes([version]) + b"".join(device[name].to_bytes(width, "big") for name, width in widths)
    return (body + cmac(bytes.fromhex(vector["key"]), body)).hex()


def check():
    others = json.loads(pathlib.Path(__file__).with_name("tickets.json").read_text())
    assert all(ticket(1, vector) == vector["ticket"] for vector in others)


def vectors():
    source = random.Random(53)
    for index in range(6):
        start = source.randrange(EPOCH, EPOCH + 2**30 - 86_400)
        vector = {
            "key": source.randbytes(16).hex(),
            "node_id": [0, 1_023][index] if index < 2 else source.randrange(1_024),
            "device_id": f"{source.getrandbits(64):016x}",
            "counter": [1, 2, 2**32 - 1][index % 3],
            "start_unix_s": start,
            "end_unix_s": start + [60, 86_400][index % 2],
        }
        yield {**vector, "ticket": ticket(2, vector)}


check()
print("[\n  " + ",\n  ".join(json.dumps(vector) for vector in vectors()) + "\n]")
