"""Access to the rows of one lane: i is where the lane's first row lies in the buffer."""

from rbgym.compiled.jit import inlined
from rbgym.layout import LANES


@inlined
def vector(buffer, i, row):
    k = i + row * LANES
    return (buffer[k], buffer[k + LANES], buffer[k + 2 * LANES])


@inlined
def quaternion(buffer, i, row):
    k = i + row * LANES
    return (buffer[k], buffer[k + LANES], buffer[k + 2 * LANES], buffer[k + 3 * LANES])


@inlined
def put_vector(buffer, i, row, v):
    k = i + row * LANES
    buffer[k] = v[0]
    buffer[k + LANES] = v[1]
    buffer[k + 2 * LANES] = v[2]


@inlined
def put_quaternion(buffer, i, row, q):
    k = i + row * LANES
    buffer[k] = q[0]
    buffer[k + LANES] = q[1]
    buffer[k + 2 * LANES] = q[2]
    buffer[k + 3 * LANES] = q[3]


@inlined
def vector_if(test, a, b):
    return (a[0] if test else b[0], a[1] if test else b[1], a[2] if test else b[2])


@inlined
def quaternion_if(test, a, b):
    return (
        a[0] if test else b[0],
        a[1] if test else b[1],
        a[2] if test else b[2],
        a[3] if test else b[3],
    )
