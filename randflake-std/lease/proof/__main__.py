"""Proves the rules of leases for all numbers, refutes them with each rule left out, and compares what was proved with what
ships: `python proof COUNT COMMAND...`, where the command writes as many rows of the shipped rules to the pipe that
`RANDFLAKE_PROOF_ROWS` names."""

import contextlib
import io
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import agree
import blind
import claims
import copies
import counters
import device
import grants
import keys
import limits
import looks
import losses
import memory
import moved
import secret
import shown
import terms
import threads
import tickets
import upgrade
import young
from system import prove


MODULES = [memory, copies, grants, shown, claims, limits, losses, looks, moved, blind, terms, secret, counters, threads, device, tickets, upgrade, keys, young]


def prove_all(place):
    """Proves the systems of the module at a place, which another process knows it by. Returns whether all are proved, and what
    there is to say of them."""
    module, said = MODULES[place], io.StringIO()
    with contextlib.redirect_stdout(said):
        flaws = module.flaws()
        proved = []
        for system in module.systems():
            proved.append(prove(system, flaws))
            # Once: each flaw is a system of its own.
            flaws = {}
    return all(proved), said.getvalue()


def main(count, command):
    # One copy of this process, which is made now: it must not have the pipe that is made later. With two of them, three would
    # share two processors, and all take longer.
    forks = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, forks) as processes:
        running = processes.map(prove_all, range(len(MODULES)))
        proved = [agree.compare(count, command)]
        for is_proved, said in running:
            print(said, end="")
            proved.append(is_proved)
    return all(proved)


if __name__ == "__main__":
    sys.exit(0 if main(int(sys.argv[1]), sys.argv[2:]) else 1)
