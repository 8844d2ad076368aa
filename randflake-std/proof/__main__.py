"""Proves the rules of leases for all numbers, refutes them with each rule left out, and compares what was proved with what
ships: `python proof COUNT COMMAND...`, where the command writes as many rows of the shipped rules to the pipe that
`RANDFLAKE_PROOF_ROWS` names."""

import sys

import agree
import claims
import copies
import limits
import losses
import memory
from system import prove


def main(count, command):
    proved = [prove(module.system(), module.flaws()) for module in [memory, copies, claims, limits]]
    flaws = losses.flaws()
    for system in losses.systems():
        proved.append(prove(system, flaws))
        # Once: each flaw has a tick of its own.
        flaws = {}
    proved.append(agree.compare(count, command))
    return all(proved)


if __name__ == "__main__":
    sys.exit(0 if main(int(sys.argv[1]), sys.argv[2:]) else 1)
