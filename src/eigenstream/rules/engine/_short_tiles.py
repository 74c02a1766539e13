"""Inner products of short whole numbers: many more at a time than of floating-point ones.

Processors multiply whole numbers of sixteen bits two by two and add the pairs up in thirty-two, in
one instruction for a whole register: twice to four times as many products as in single precision.
Where they cannot, the same is written in multiplications and sums. Nothing is rounded on the way.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.np.arrayobj import make_array

from eigenstream.rules.engine._aligned import aligned
from eigenstream.rules.engine._tiles import (
    INT,
    KINDS,
    UTILITIES,
    _check,
    _loop,
    _Table,
    in_line,
    spread,
)

__all__ = ["SHORT_LINE", "SHORT_ROWS", "in_lines", "short_tile"]

#: Rows of a tile; what there are more of is left alone.
SHORT_ROWS = 8

#: Columns come in so many, whatever the machine.
SHORT_LINE = 32

SHORT, WHOLE = ir.IntType(16), ir.IntType(32)


def in_lines(units: Any) -> Any:
    """Return short units, (K, q), as columns for ``short_tile``: SHORT_LINE of them after another.

    A line has two numbers of each of these in turn, and the next line the next two, so that they
    are read as they lie in memory.

    >>> lines = in_lines(np.arange(SHORT_LINE * 4, dtype=np.int16).reshape(SHORT_LINE, 4))
    >>> lines.shape, lines[:, :4].tolist()
    ((2, 64), [[0, 1, 4, 5], [2, 3, 6, 7]])
    """
    K, q = units.shape
    pairs = units.view(np.int32).reshape(K // SHORT_LINE, SHORT_LINE, q // 2).swapaxes(1, 2)
    lines = aligned((K // SHORT_LINE * (q // 2), 2 * SHORT_LINE), np.int16)
    lines.view(np.int32).reshape(pairs.shape)[:] = pairs
    return lines


class _PairSums:
    """Writes sums of pairs of products in the widest registers that have them."""

    def __init__(self, context: Any, builder: Any) -> None:
        triple, _, features = map(str, context.codegen().magic_tuple())
        #: The instruction by which lanes are multiplied and added, where there is one.
        self.name, self.lanes, self.registers = "", 4, 1
        if "+avx512bw" in features:
            self.name, self.lanes, self.registers = "llvm.x86.avx512.pmaddw.d.512", 16, 2
        elif "+avx2" in features:
            self.name, self.lanes = "llvm.x86.avx2.pmadd.wd", 8
        elif triple.startswith("x86_64"):
            self.name = "llvm.x86.sse2.pmadd.wd"
        self.builder = builder
        self.sums = ir.VectorType(WHOLE, self.lanes)
        self.shorts = ir.VectorType(SHORT, 2 * self.lanes)
        self.values = ir.VectorType(ir.FloatType(), self.lanes)
        self.zero = ir.Constant(self.sums, None)

    def load(self, place: Any, kind: Any) -> Any:
        place = self.builder.bitcast(place, kind.as_pointer())
        return self.builder.load(place, align=2 if kind is self.shorts else 4)

    def pair(self, place: Any) -> Any:
        """Read two short numbers, and return them in every lane."""
        place = self.builder.bitcast(place, WHOLE.as_pointer())
        both = spread(self.builder, self.builder.load(place, align=2), self.sums)
        return self.builder.bitcast(both, self.shorts)

    def products(self, one: Any, other: Any) -> Any:
        """Return the sum of the two products of each pair."""
        builder = self.builder
        if self.name:
            kind = ir.FunctionType(self.sums, [self.shorts, self.shorts])
            function = UTILITIES.get_or_insert_function(builder.module, kind, self.name)
            return builder.call(function, [one, other])
        total = self.zero
        for first in (0, 1):
            places = [first + 2 * lane for lane in range(self.lanes)]
            order = ir.Constant(ir.VectorType(WHOLE, self.lanes), places)
            both = [
                builder.sext(builder.shuffle_vector(of, of, order), self.sums)
                for of in (one, other)
            ]
            total = builder.add(total, builder.mul(*both))
        return total


def _check_shorts(values: Any, factors: Any, columns: Any) -> None:
    _check(values, factors, columns)
    if not (factors.dtype == columns.dtype == types.int16 and values.dtype == types.float32):
        raise TypeError("short numbers have sixteen bits, and what is made of them thirty-two.")


@in_line
def short_tile(
    _typing: Any, values: Any, v: Any, factors: Any, t: Any, columns: Any, by: Any, stretch: Any
) -> Any:
    """Write sizes + offsets + scales * (factors @ columns) of a few rows, for some columns.

    They are rows t.. of ``factors``, SHORT_ROWS of them, and become rows v.. of ``values``; beyond
    the last one the last is taken again. ``columns`` are as ``in_lines`` has them. ``by`` are the
    scales of the rows, the sizes of the rows and the offsets of the columns, which begin at a
    multiple of SHORT_LINE and end at one.
    """
    _check_shorts(values, factors, columns)
    place = types.intp
    pair = KINDS.UniTuple(place, 2)
    signature = types.void(values, place, factors, place, columns, by, pair)

    def write(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        make: Any = make_array
        start, stop = UTILITIES.unpack_tuple(builder, given[6], 2)
        lines = UTILITIES.unpack_tuple(builder, given[5], 3)
        scales, sizes, offsets = (make(by.dtype)(context, builder, line).data for line in lines)
        to = _Table(context, builder, values, given[0])
        rows_of = _Table(context, builder, factors, given[2])
        table = _Table(context, builder, columns, given[4])
        kind = _PairSums(context, builder)
        rows = rows_of.rows(given[3], SHORT_ROWS)
        shift = builder.sub(given[1], given[3])

        half = builder.udiv(rows_of.width, INT(2))

        def some(at: Any, _: Any) -> list[Any]:
            places = [builder.add(at, INT(c * kind.lanes)) for c in range(kind.registers)]
            first = builder.mul(builder.udiv(at, INT(SHORT_LINE)), half)
            inside = builder.mul(builder.urem(at, INT(SHORT_LINE)), INT(2))
            beside = [builder.add(inside, INT(2 * c * kind.lanes)) for c in range(kind.registers)]

            def step(i: Any, totals: Any) -> list[Any]:
                two, line = builder.mul(i, INT(2)), builder.add(first, i)
                right = [kind.load(table.place(line, c), kind.shorts) for c in beside]
                left = [kind.pair(rows_of.place(row, two)) for row in rows]
                products = [kind.products(one, other) for one in left for other in right]
                return [builder.add(*both) for both in zip(totals, products, strict=True)]

            zeros = [kind.zero] * (SHORT_ROWS * kind.registers)
            _, totals = _loop(builder, INT(0), half, 1, zeros, step)
            found = iter(totals)
            own = [kind.load(builder.gep(offsets, [c]), kind.values) for c in places]
            for row in rows:
                scale, size = (
                    spread(builder, builder.load(builder.gep(line, [row])), kind.values)
                    for line in (scales, sizes)
                )
                for c, offset in zip(places, own, strict=True):
                    product = builder.fmul(builder.sitofp(next(found), kind.values), scale)
                    value = builder.fadd(product, builder.fadd(offset, size))
                    at_row = to.place(builder.add(row, shift), c)
                    at_row = builder.bitcast(at_row, kind.values.as_pointer())
                    builder.store(value, at_row, align=4)
            return []

        _loop(builder, start, stop, kind.lanes * kind.registers, [], some)
        return context.get_dummy_value()

    return signature, write
