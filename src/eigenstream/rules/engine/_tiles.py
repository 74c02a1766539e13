"""Products of small tiles that stay in the processor's vector registers.

A compiler that makes vectors of the innermost loop by itself writes one or two sums at a time, and
then waits for memory. Here sixteen sums are kept in registers while eight stretches of numbers are
read, and nothing is copied before: for a few rows this is quicker than BLAS, which packs its
operands. It is written in the compiler's own vector instructions, since plain loops cannot ask for
them; they run on any machine, in as many registers as that has.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

__all__ = ["ADDED", "LINE", "TILE", "add_tile", "dot_tile", "sweep_one", "sweep_two"]

#: What is decorated writes its code into the compiled function that calls it.
in_line: Any = intrinsic

#: Parts of numba that have no types.
KINDS: Any = types
UTILITIES: Any = cgutils

#: A tile of inner products is of so many rows by as many.
TILE = 4

#: Rows are added to so many vectors at a time, in stripes of so many registers.
ADDED, STRIPE = 5, 2

#: Numbers of a row that is to have no rest in any register.
LINE = 8

INT = ir.IntType(64)

#: A product and a sum may be one instruction, and the lanes of a sum be added in any order.
FUSED, LOOSE = ("contract",), ("reassoc", "nsz")


def _machine(context: Any) -> tuple[int, int]:
    """Return the bytes of a vector register, and how many columns of a tile fit into all.

    Compiled code is cached by machine, so this may differ between two of them.
    """
    features = str(context.codegen().magic_tuple())
    if "+avx512f" in features:
        return 64, TILE
    return (32, TILE // 2) if "+avx" in features else (16, TILE // 2)


def spread(builder: Any, number: Any, kind: Any) -> Any:
    """Write code for a vector with the number in every lane."""
    none = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(none, number, ir.IntType(32)(0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, none, order)


class _Vectors:
    """Writes loads, stores and sums of one kind of vector, whole or only the first lanes."""

    def __init__(self, context: Any, builder: Any, number: Any) -> None:
        self.builder = builder
        self.number = context.get_data_type(number)
        self.size = number.bitwidth // 8
        self.lanes = _machine(context)[0] // self.size
        self.type = ir.VectorType(self.number, self.lanes)
        self.suffix = f"v{self.lanes}f{number.bitwidth}"
        self.zero = ir.Constant(self.type, None)
        self.mask: Any = None  # which lanes are read and written; None: all

    def _intrinsic(self, name: str, result: Any, *arguments: Any) -> Any:
        kind = ir.FunctionType(result, arguments)
        return UTILITIES.get_or_insert_function(self.builder.module, kind, name)

    def _masked(self, name: str) -> str:
        return f"llvm.masked.{name}.{self.suffix}.p0"

    def load(self, place: Any) -> Any:
        """Read a vector; lanes that are masked out are zero."""
        place = self.builder.bitcast(place, self.type.as_pointer())
        if self.mask is None:
            return self.builder.load(place, align=self.size)
        align = ir.IntType(32)
        given = (place.type, align, self.mask.type, self.type)
        read = self._intrinsic(self._masked("load"), self.type, *given)
        return self.builder.call(read, [place, align(self.size), self.mask, self.zero])

    def store(self, vector: Any, place: Any) -> None:
        """Write a vector, but for lanes that are masked out."""
        place = self.builder.bitcast(place, self.type.as_pointer())
        if self.mask is None:
            self.builder.store(vector, place, align=self.size)
            return
        align = ir.IntType(32)
        given = (self.type, place.type, align, self.mask.type)
        write = self._intrinsic(self._masked("store"), ir.VoidType(), *given)
        self.builder.call(write, [vector, place, align(self.size), self.mask])

    def spread(self, number: Any, kind: Any = None) -> Any:
        """Return a vector with the number in every lane."""
        return spread(self.builder, number, kind or self.type)

    def times_plus(self, one: Any, other: Any, total: Any) -> Any:
        """Return one * other + total."""
        product = self.builder.fmul(one, other, flags=FUSED)
        return self.builder.fadd(product, total, flags=FUSED)

    def sum(self, vector: Any) -> Any:
        """Return the sum of the lanes, in double precision."""
        name = f"llvm.vector.reduce.fadd.{self.suffix}"
        add = self._intrinsic(name, self.number, self.number, self.type)
        zero = ir.Constant(self.number, 0.0)
        total = self.builder.call(add, [zero, vector], fastmath=LOOSE)
        return total if self.size == 8 else self.builder.fpext(total, ir.DoubleType())

    def rest(self, start: Any, stop: Any, write: Callable[[], list[Any]], before: Any) -> list[Any]:
        """Write code for the last columns, fewer than lanes, under a mask; none may be left.

        Return what it gives instead of ``before``.
        """
        builder = self.builder
        came_from, gives = builder.block, []
        with builder.if_then(builder.icmp_signed("<", start, stop), likely=False):
            kind = ir.VectorType(INT, self.lanes)
            places = ir.Constant(kind, list(range(self.lanes)))
            left = self.spread(builder.sub(stop, start), kind)
            self.mask = builder.icmp_signed("<", places, left)
            gives = write()
            self.mask, inside = None, builder.block
        found = []
        for old, new in zip(before, gives, strict=True):
            merged = builder.phi(old.type)
            merged.add_incoming(old, came_from)
            merged.add_incoming(new, inside)
            found.append(merged)
        return found


def _loop(
    builder: Any, start: Any, stop: Any, step: int, carried: list[Any], body: Callable[..., Any]
) -> tuple[Any, list[Any]]:
    """Write a loop over whole steps from start to stop; ``body(at, carried)`` gives the next ones.

    Return where it ends, and what is carried then.
    """
    before = builder.block
    head, inside, end = (builder.append_basic_block(name) for name in ("head", "inside", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    at = builder.phi(INT)
    at.add_incoming(start, before)
    now = [builder.phi(value.type) for value in carried]
    for phi, value in zip(now, carried, strict=True):
        phi.add_incoming(value, before)
    following = builder.add(at, INT(step))
    builder.cbranch(builder.icmp_signed("<=", following, stop), inside, end)
    builder.position_at_end(inside)
    values = body(at, now)
    at.add_incoming(following, builder.block)
    for phi, value in zip(now, values, strict=True):
        phi.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(end)
    return at, now


class _Table:
    """Where the rows of a C-contiguous array lie; beyond the last, the last is meant again."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        make: Any = make_array
        array = make(kind)(context, builder, value)
        self.builder, self.data = builder, array.data
        self.n, self.width = (builder.extract_value(array.shape, axis) for axis in (0, 1))
        self.last = builder.sub(self.n, INT(1))

    def place(self, row: Any, column: Any) -> Any:
        """Return a pointer to a number."""
        builder = self.builder
        return builder.gep(self.data, [builder.add(builder.mul(row, self.width), column)])

    def rows(self, first: Any, count: int) -> list[Any]:
        """Return the places in the order of some rows in a row."""
        builder = self.builder
        at = [builder.add(first, INT(k)) for k in range(count)]
        return [builder.select(builder.icmp_signed("<", k, self.last), k, self.last) for k in at]


def _check(*tables: Any) -> None:
    for table in tables:
        if not (isinstance(table, types.Array) and table.ndim == 2 and table.layout == "C"):
            raise TypeError(f"a tile is of arrays that are contiguous row by row, got {table}.")


@in_line
def dot_tile(
    _typing: Any, a: Any, i: Any, b: Any, k: Any, columns: Any, out: Any, column: Any
) -> Any:
    """Add inner products of rows i.. of ``a`` and k.. of ``b``, from one column to another.

    They are added to rows i.. and columns ``column`` + k.. of ``out``, TILE by TILE of them.
    Beyond the last row the last is taken again, and its products are written again.
    """
    _check(a, b, out)
    whole = types.intp
    signature = types.void(a, whole, b, whole, KINDS.UniTuple(whole, 2), out, whole)

    def write(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        first_a, first_b, column = given[1], given[3], given[6]
        start, stop = UTILITIES.unpack_tuple(builder, given[4], 2)
        one, other = _Table(context, builder, a, given[0]), _Table(context, builder, b, given[2])
        results = _Table(context, builder, out, given[5])
        vectors, at_once = _Vectors(context, builder, a.dtype), _machine(context)[1]
        i_rows, k_rows = one.rows(first_a, TILE), other.rows(first_b, TILE)
        sums: dict[tuple[int, int], Any] = {}
        for low in range(0, TILE, at_once):
            pairs = [(r, c) for r in range(TILE) for c in range(low, low + at_once)]

            def step(at: Any, totals: Any, pairs: Any = pairs, low: int = low) -> list[Any]:
                left = [vectors.load(one.place(row, at)) for row in i_rows]
                right = [vectors.load(other.place(row, at)) for row in k_rows[low : low + at_once]]
                return [
                    vectors.times_plus(left[r], right[c - low], total)
                    for (r, c), total in zip(pairs, totals, strict=True)
                ]

            zeros = [vectors.zero] * len(pairs)
            at, totals = _loop(builder, start, stop, vectors.lanes, zeros, step)
            totals = vectors.rest(at, stop, partial(step, at, totals), totals)
            sums |= dict(zip(pairs, map(vectors.sum, totals), strict=True))
        # All are read before any is written: a row may be meant twice.
        new = []
        for (r, c), total in sums.items():
            place = results.place(i_rows[r], builder.add(column, k_rows[c]))
            new.append((place, builder.fadd(builder.load(place), total)))
        for place, value in new:
            builder.store(value, place)
        return context.get_dummy_value()

    return signature, write


@in_line
def add_tile(
    _typing: Any, vectors: Any, k: Any, shift: Any, coefficients: Any, rows: Any, columns: Any
) -> Any:
    """Add ``coefficients @ rows`` to vectors k.., ADDED of them, from one column to another.

    Those of the vectors lie ``shift`` further on. Beyond the last vector the last is taken again.
    """
    _check(vectors, coefficients, rows)
    whole = types.intp
    pair = KINDS.UniTuple(whole, 2)
    signature = types.void(vectors, whole, whole, coefficients, rows, pair)

    def write(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        first, shift = given[1], given[2]
        start, stop = UTILITIES.unpack_tuple(builder, given[5], 2)
        to = _Table(context, builder, vectors, given[0])
        factors = _Table(context, builder, coefficients, given[3])
        table = _Table(context, builder, rows, given[4])
        kind = _Vectors(context, builder, rows.dtype)
        k_rows = to.rows(first, ADDED)

        def stripe(at: Any, registers: int) -> None:
            columns = [builder.add(at, INT(c * kind.lanes)) for c in range(registers)]
            places = [to.place(row, builder.add(c, shift)) for row in k_rows for c in columns]

            def step(i: Any, totals: Any) -> list[Any]:
                row = [kind.load(table.place(i, column)) for column in columns]
                each = [kind.spread(builder.load(factors.place(k, i))) for k in k_rows]
                products = [(factor, part) for factor in each for part in row]
                return [
                    kind.times_plus(factor, part, total)
                    for (factor, part), total in zip(products, totals, strict=True)
                ]

            # All are read before any is written: a vector may be meant twice.
            old = [kind.load(place) for place in places]
            for place, new in zip(
                places, _loop(builder, INT(0), table.n, 1, old, step)[1], strict=True
            ):
                kind.store(new, place)

        for registers in (STRIPE, 1):

            def some(at: Any, _: Any, registers: int = registers) -> list[Any]:
                stripe(at, registers)
                return []

            start, _ = _loop(builder, start, stop, registers * kind.lanes, [], some)

        def last() -> list[Any]:
            stripe(start, 1)
            return []

        kind.rest(start, stop, last, [])
        return context.get_dummy_value()

    return signature, write


def _sweeping(r: int) -> Any:
    """Make a function that changes a table and multiplies it, in one pass over it."""

    @in_line
    def sweep(_typing: Any, table: Any, factors: Any, change: Any) -> Any:
        """Add the first columns of ``factors`` times the first rows of ``change`` to a table.

        The others of ``change`` become the transposed others of ``factors`` times the result.
        Rows have whole lines.
        """
        _check(table, factors, change)

        def write(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
            whole, by, lines = (
                _Table(context, builder, kind, value)
                for kind, value in zip((table, factors, change), given, strict=True)
            )
            kind = _Vectors(context, builder, table.dtype)

            def stripe(at: Any, registers: int) -> None:
                columns = [builder.add(at, INT(c * kind.lanes)) for c in range(registers)]
                added = [[kind.load(lines.place(INT(i), c)) for c in columns] for i in range(r)]

                def step(k: Any, totals: Any) -> list[Any]:
                    each = [kind.spread(builder.load(by.place(k, INT(i)))) for i in range(2 * r)]
                    new = []
                    for c, column in enumerate(columns):
                        place = whole.place(k, column)
                        part = kind.load(place)
                        for i in range(r):
                            part = kind.times_plus(each[i], added[i][c], part)
                        kind.store(part, place)
                        for i in range(r):
                            new.append(kind.times_plus(each[r + i], part, totals[c * r + i]))
                    return new

                zeros = [kind.zero] * (registers * r)
                _, totals = _loop(builder, INT(0), whole.n, 1, zeros, step)
                for c, column in enumerate(columns):
                    for i in range(r):
                        kind.store(totals[c * r + i], lines.place(INT(r + i), column))

            start = INT(0)
            for registers in (STRIPE, 1):

                def some(at: Any, _: Any, registers: int = registers) -> list[Any]:
                    stripe(at, registers)
                    return []

                start, _ = _loop(builder, start, whole.width, registers * kind.lanes, [], some)
            return context.get_dummy_value()

        return types.void(table, factors, change), write

    return sweep


#: For one vector a step, and for two.
sweep_one, sweep_two = _sweeping(1), _sweeping(2)
