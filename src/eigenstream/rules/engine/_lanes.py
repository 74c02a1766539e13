"""Looking through whole numbers many lanes at a time.

What a compiler makes of a search by itself asks after every number, or after too few; these ask
once a vector. They are written in its own vector instructions, which run on any machine.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

__all__ = ["within_lanes"]

#: Numbers that are looked at before there is a question.
LANES = 16

INT = ir.IntType(64)

in_line: Any = intrinsic
KINDS: Any = types


class _Line:
    """Vectors of a contiguous array of whole numbers."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        make: Any = make_array
        array = make(kind)(context, builder, value)
        self.builder, self.data = builder, array.data
        self.n = builder.extract_value(array.shape, 0)
        self.size = kind.dtype.bitwidth // 8
        self.number = context.get_data_type(kind.dtype)
        self.type = ir.VectorType(self.number, LANES)

    def load(self, at: Any) -> Any:
        place = self.builder.gep(self.data, [at])
        place = self.builder.bitcast(place, self.type.as_pointer())
        return self.builder.load(place, align=self.size)

    def spread(self, number: Any) -> Any:
        none = ir.Constant(self.type, ir.Undefined)
        one = self.builder.insert_element(none, number, ir.IntType(32)(0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(one, none, order)


def _check(bits: Any) -> None:
    whole = isinstance(bits, types.Array) and isinstance(bits.dtype, types.Integer)
    if not (whole and bits.ndim == 1 and bits.layout == "C"):
        raise TypeError(f"lanes are of whole numbers that lie one after the other, got {bits}.")


@in_line
def within_lanes(_typing: Any, bits: Any, most: Any, start: Any) -> Any:
    """Return the first place from ``start`` on with at most so much.

    Where there is none in whole vectors, what it returns is the first place behind these.
    """
    _check(bits)

    def write(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        line = _Line(context, builder, bits, given[0])
        bound, before = line.spread(given[1]), builder.block
        names = ("head", "inside", "hit", "end")
        head, inside, hit, end = (builder.append_basic_block(name) for name in names)
        builder.branch(head)
        builder.position_at_end(head)
        at = builder.phi(INT)
        at.add_incoming(given[2], before)
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

    return KINDS.intp(bits, bits.dtype, KINDS.intp), write
