"""Two populations that differ in one person, and how far a plan's numbers are apart on them."""

from functools import cache

from hypothesis import strategies as st

from engines.clinic import row_of, rows_of_anyone, with_key
from lapwing.queries.catalogue.population import KeyType

NEWCOMER = {KeyType.INTEGER: 42, KeyType.TEXT: "newcomer"}


@cache
def rows_of_one_person(population, *, most=5):
    """All tables with the rows of one person; some of them name nobody."""
    person = NEWCOMER[population.tables[0].key_type]

    def fill(table):
        whose = st.sampled_from([person, person, person, None])
        row = st.builds(lambda p, r: with_key(population, table, p, r), whose, row_of(table))
        return st.lists(row, min_size=1, max_size=most)

    return st.fixed_dictionaries({table.name: fill(table) for table in population.tables})


@cache
def neighbours(population):
    """Pairs (without, with) of populations that differ in one person's rows, mixed among those of others."""

    def mixed(others, mine, turn):
        both = {name: others[name][turn:] + mine[name] + others[name][:turn] for name in others}
        return others, both

    return st.builds(mixed, rows_of_anyone(population), rows_of_one_person(population), st.integers(0, 3))


@cache
def replacements(population):
    """Pairs of populations in which one person's rows are exchanged for another's."""

    def exchanged(others, before, after):
        return tuple({name: others[name] + mine[name] for name in others} for mine in (before, after))

    return st.builds(
        exchanged, rows_of_anyone(population), rows_of_one_person(population), rows_of_one_person(population)
    )


def cells(engine, aggregate):
    """The numbers of an aggregate by cell, zeros left out."""
    if aggregate.cells is None:
        found = engine.keyed(aggregate).open_for_release()
    else:
        numbers, terms = engine.vector(aggregate).open_for_release(), aggregate.terms
        found = {cell: numbers[i * terms : (i + 1) * terms] for i, cell in enumerate(aggregate.cells)}
    return {(cell, i): n for cell, block in found.items() for i, n in enumerate(block) if n}


def moves(before, after):
    """How each number moves from one population to the other."""
    return [after.get(cell, 0) - before.get(cell, 0) for cell in before.keys() | after.keys()]


def excess(sensitivity, change):
    """What the change exceeds, in words, or nothing."""
    found = {
        "L1": sum(map(abs, change)) > sensitivity.l1,
        "L2 squared": sum(n * n for n in change) > sensitivity.l2_squared,
        "a single number": max(map(abs, change), default=0) > sensitivity.linf,
        "its direction": sensitivity.monotone and any(n < 0 for n in change),
    }
    return [name for name, exceeded in found.items() if exceeded]
