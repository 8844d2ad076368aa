"""Proves the rules of leases for all numbers, refutes them with each rule left out, and compares what was proved with what
ships: `python proof COUNT COMMAND...`, where the command writes as many rows of the shipped rules to the pipe that
`RANDFLAKE_PROOF_ROWS` names."""

import sys

import agree
import blind
import claims
import copies
import counters
import device
import grants
import keys
import limits
import losses
import memory
import secret
import shown
import terms
import threads
import tickets
import upgrade
from system import prove


def main(count, command):
    proved = []
    for module in [memory, copies, grants, shown, claims, limits, losses, blind, terms, secret, counters, threads, device, tickets, upgrade, keys]:
        flaws = module.flaws()
        for system in module.systems():
            proved.append(prove(system, flaws))
            # Once: each flaw is a system of its own.
            flaws = {}
    proved.append(agree.compare(count, command))
    return all(proved)


if __name__ == "__main__":
    sys.exit(0 if main(int(sys.argv[1]), sys.argv[2:]) else 1)
