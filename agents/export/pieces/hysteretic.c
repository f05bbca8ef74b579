/* The torque of AttitudePD, to q or -q, whichever the memory selects; see Hysteretic. */
static void torque(const sight *now, real u[3])
{
    rbgym_memory *memory = now->memory;
    const real *q = now->q, *last = memory->last;
    real v[3], sign = (real)1, way = q[0] < (real)0 ? -(real)1 : (real)1;
    int i;
    if (memory->started != 0) {
        sign = q[0] * last[0] + dot(q + 1, last + 1) < (real)0 ? -(real)1 : (real)1;
        way = memory->way[0];
    }
    way = way * sign * q[0] < -DELTA ? -way : way;
    for (i = 0; i < 4; i++) { memory->last[i] = sign * q[i]; }
    memory->way[0] = way;
    for (i = 0; i < 3; i++) { v[i] = way * sign * q[1 + i]; }
    ease(v);
    turning(v, now->omega, now->wanted, now->swing, u);
    add_gyroscopic_torque(now->omega, u);
    limit(u);
}
