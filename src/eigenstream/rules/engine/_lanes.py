"""Looking through whole numbers many lanes at a time.

What a compiler makes of a search by itself asks after every number, or after too few; these ask
once a vector. They are written in its own vector instructions, which run on any machine.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from eigenstream.rules.engine._tiles import spread

__all__ = ["COUNTED", "count_lanes", "within_lanes"]

#: Numbers that are looked at before there is a question, or counted at a time.
LANES, COUNTED = 16, 32

INT = ir.IntType(64)

in_line: Any = intrinsic
KINDS: Any = types


class _Line:
    """Vectors of one line of a contiguous table of whole numbers."""

    def __init__(self, context: Any, builder: Any, kind: Any, line: Any, lanes: int) -> None:
        make: Any = make_array
        table, row = line
        array = make(kind)(context, builder, table)
        self.builder, self.n = builder, builder.extract_value(array.shape, 1)
        self.data = builder.gep(array.data, [builder.mul(row, self.n)])
        self.size = kind.dtype.bitwidth // 8
        self.number = context.get_data_type(kind.dtype)
        self.type, self.lanes = ir.VectorType(self.number, lanes), lanes

    def load(self, at: Any) -> Any:
        place = self.builder.gep(self.data, [at])
        place = self.builder.bitcast(place, self.type.as_pointer())
        return self.builder.load(place, align=self.size)

    def spread(self, number: Any) -> Any:
        return spread(self.builder, number, self.type)


def _check(bits: Any) -> None:
    whole = isinstance(bits, types.Array) and isinstance(bits.dtype, types.Integer)
    if not (whole and bits.ndim == 2 and bits.layout == "C"):
        raise TypeError(f"lanes are of a table of whole numbers, line by line, got {bits}.")


@in_line
def within_lanes(_typing: Any, bits: Any, row: Any, most: Any, start: Any) -> Any:
    """Return the first place in a row, from ``start`` on with at most so much.

    Where there is none in whole vectors, what it returns is the first place behind these.
    """
    _check(bits)

    def write(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        line = _Line(context, builder, bits, (given[0], given[1]), LANES)
        bound, before = line.spread(given[2]), builder.block
        names = ("head", "inside", "hit", "end")
        head, inside, hit, end = (builder.append_basic_block(name) for name in names)
        builder.branch(head)
        builder.position_at_end(head)
        at = builder.phi(INT)
        at.add_incoming(given[3], before)
        following = builder.add(at, INT(LANES))
        builder.cbranch(builder.icmp_signed("<=", following, line.n), inside, end)
        builder.position_at_end(inside)
        found = builder.icmp_signed("<=", line.load(at), bound)
        mask = builder.bitcast(found, ir.IntType(LANES))
        at.add_incoming(following, inside)
        builder.cbranch(builder.icmp_signed("!=", mask, mask.type(0)), hit, head)
        builder.position_at_end(hit)
        lane = builder.cttz(mask, ir.IntType(1)(1))
        place = builder.add(at, builder.zext(lane, INT))
        builder.branch(end)
        builder.position_at_end(end)
        result = builder.phi(INT)
        result.add_incoming(at, head)
        result.add_incoming(place, hit)
        return result

    whole = KINDS.intp
    return whole(bits, whole, bits.dtype, whole), write


@in_line
def count_lanes(_typing: Any, bits: Any, row: Any, most: Any) -> Any:
    """Return how many in a row are at most so much, and the place of one of them, or -1.

    The last numbers, fewer than a vector, are left out. No question is asked on the way, whose
    answer a processor could guess wrongly.
    """
    _check(bits)

    def write(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        line = _Line(context, builder, bits, (given[0], given[1]), COUNTED)
        bound, before = line.spread(given[2]), builder.block
        head, inside, end = (builder.append_basic_block(name) for name in ("head", "inside", "end"))
        builder.branch(head)
        builder.position_at_end(head)
        at, count, place = (builder.phi(INT) for _ in range(3))
        for phi, number in ((at, 0), (count, 0), (place, -1)):
            phi.add_incoming(INT(number), before)
        following = builder.add(at, INT(COUNTED))
        builder.cbranch(builder.icmp_signed("<=", following, line.n), inside, end)
        builder.position_at_end(inside)
        found = builder.icmp_signed("<=", line.load(at), bound)
        mask = builder.zext(builder.bitcast(found, ir.IntType(COUNTED)), INT)
        here = builder.add(at, builder.cttz(mask, ir.IntType(1)(0)))
        any_one = builder.icmp_signed("!=", mask, INT(0))
        at.add_incoming(following, inside)
        count.add_incoming(builder.add(count, builder.ctpop(mask)), inside)
        place.add_incoming(builder.select(any_one, here, place), inside)
        builder.branch(head)
        builder.position_at_end(end)
        return context.make_tuple(builder, _signature.return_type, [count, place])

    whole = KINDS.intp
    return KINDS.UniTuple(whole, 2)(bits, whole, bits.dtype), write
