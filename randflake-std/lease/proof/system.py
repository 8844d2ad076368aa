"""Systems of states and steps over unbounded numbers: proved by an invariant, or refuted by a story."""

import time
from types import SimpleNamespace

import z3

LIMIT_MS = 60_000
# Longest story that is looked for. Each rule that is left out shows earlier.
LONGEST = 9


class System:
    """`shape` names the records of a state, and the fields of each with `int` or `bool`. A step is a function of the state before
    and after it, and of `local`, which makes numbers of its own; it returns conditions."""

    def __init__(self, title, shape, begin, invariant, promise, steps):
        self.title = title
        self.shape = shape
        self.begin = begin
        self.invariant = invariant
        self.promise = promise
        self.steps = steps
        self.given = {what: set() for what in steps}

    def state(self, name):
        def field(record, of, kind):
            make = {int: z3.Int, bool: z3.Bool}[kind]
            return make(f"{name}.{record}.{of}")

        return SimpleNamespace(
            name=name,
            **{
                record: SimpleNamespace(**{of: field(record, of, kind) for of, kind in fields.items()})
                for record, fields in self.shape.items()
            },
        )

    def step(self, what, before, after):
        """The conditions of a step. Records that it does not name in `changes` stay as they are."""

        def local(name):
            self.given[what].add(name)
            return z3.Int(f"{after.name}.{name}")

        return z3.And(self.steps[what](before, after, local))

    def without(self, *words):
        """The same without the steps whose names have one of these words, so that a story of the others is found sooner."""
        steps = {what: step for what, step in self.steps.items() if not any(word in what for word in words)}
        return System(self.title, self.shape, self.begin, self.invariant, self.promise, steps)

    def obligations(self):
        """Name, assumptions and goal of all that is to be proved."""
        before, after = self.state("s"), self.state("t")
        holds = z3.And(self.invariant(before))
        yield "it holds at the beginning", [*self.begin(before)], z3.And(self.invariant(before))
        for what in self.steps:
            step = [holds, self.step(what, before, after)]
            yield f"it holds after: {what}", step, z3.And(self.invariant(after))
        yield "it keeps the promise", [holds], self.promise(before)

    def broken(self):
        """The obligations that do not hold, or are not decided."""
        found = []
        for name, assumed, goal in self.obligations():
            solver = z3.Solver()
            solver.set("timeout", LIMIT_MS)
            solver.add(*assumed, z3.Not(goal))
            answer = solver.check()
            if answer != z3.unsat:
                model = solver.model() if answer == z3.sat else "not decided"
                found.append((name, model))
        return found

    def impossible(self):
        """Steps that no state within the invariant can take: then the proof would be of less than it says."""
        before, after = self.state("s"), self.state("t")
        for what in self.steps:
            solver = z3.Solver()
            solver.set("timeout", LIMIT_MS)
            solver.add(*self.invariant(before), self.step(what, before, after))
            if solver.check() != z3.sat:
                yield what

    def story(self):
        """The shortest way from the beginning to a broken promise, as lines; `None` if there is none of `LONGEST` steps."""
        solver = z3.Solver()
        solver.set("timeout", LIMIT_MS)
        states = [self.state("s0")]
        solver.add(*self.begin(states[0]))
        taken = []
        for place in range(1, LONGEST + 1):
            before, after = states[-1], self.state(f"s{place}")
            states.append(after)
            choice = z3.Int(f"choice{place}")
            taken.append(choice)
            names = list(self.steps)
            solver.add(choice >= 0, choice < len(names))
            for number, what in enumerate(names):
                solver.add(z3.Implies(choice == number, self.step(what, before, after)))
            solver.push()
            solver.add(z3.Not(self.promise(after)))
            if solver.check() == z3.sat:
                return list(self.tell(solver.model(), states, taken))
            solver.pop()
        return None

    def tell(self, model, states, taken):
        def values(state):
            return {
                f"{record}.{of}": model.eval(value, model_completion=True)
                for record in self.shape
                for of, value in vars(getattr(state, record)).items()
            }

        # What is 0 or false at the beginning is not told, nor what plays no part.
        first = {}
        for record in self.shape:
            of = vars(getattr(states[0], record))
            if all(z3.is_true(model.eval(of[flag])) for flag in ["there", "granted"] if flag in of):
                first |= {f"{record}.{name}": model.eval(value) for name, value in of.items()}
        at_first = [f"{name} {value}" for name, value in first.items() if z3.is_true(value) or (z3.is_int_value(value) and value.as_long())]
        if at_first:
            yield f"at first: {', '.join(at_first)}"
        names = list(self.steps)
        for number, choice in enumerate(taken[: len(states) - 1]):
            before, after = values(states[number]), values(states[number + 1])
            what = names[model.eval(choice).as_long()]
            given = {name: model.eval(z3.Int(f"s{number + 1}.{name}"), model_completion=True) for name in self.given[what]}
            changed = [f"{name} {after[name]}" for name in after if not z3.eq(before[name], after[name])]
            by = ", ".join(f"{name} {value}" for name, value in sorted(given.items()))
            by = f" ({by})" if by else ""
            yield f"{number + 1}. {what}{by}: {', '.join(changed) or 'nothing changes'}"


def same(before, after, *fields):
    """These fields stay as they are; all of them if none is named."""
    return z3.And([getattr(before, it) == getattr(after, it) for it in fields or vars(before)])


def rest(before, after, *changes):
    """Every record but these stays as it is."""
    return z3.And(
        [
            same(record, getattr(after, name))
            for name, record in vars(before).items()
            if name not in changes and name != "name"
        ]
    )


def prove(system, flaws):
    """Proves a system, and refutes it with each rule left out. Returns whether both are so."""
    began = time.monotonic()
    broken = system.broken()
    impossible = list(system.impossible())
    count = len(list(system.obligations()))
    print(f"{system.title}: {count - len(broken)} of {count} obligations hold, {time.monotonic() - began:.1f} s")
    for name, model in broken:
        print(f"  NOT PROVED: {name}: {' '.join(str(model).split())}")
    for what in impossible:
        print(f"  IMPOSSIBLE STEP: {what}")
    is_proved = not broken and not impossible
    for name, flawed in flaws.items():
        story = flawed.story()
        if story is None:
            print(f"  NOT REFUTED: {name}")
            is_proved = False
        else:
            print(f"  {name}:")
            for line in story:
                print(f"    {line}")
    return is_proved
