/* Finds the attitude; the network reads it relative to the target, and the rates. See Attitude. */
static void remember(rbgym_memory *memory, real seen[OBSERVATIONS + REMEMBERED])
{
    const real *target = seen + TARGET, *q = memory->attitude;
    real *read = seen + OBSERVATIONS, omega[3], sun[3], v[3];
    int i;
    (void)acquire(memory, seen, omega, sun);
    for (i = 0; i < 3; i++) { /* conj(target) o q */
        v[i] = target[0] * q[1 + i] - q[0] * target[1 + i];
        read[4 + i] = omega[i] / RATE_LIMIT;
    }
    add_cross(q + 1, target + 1, v);
    read[0] = memory->known[0] * (target[0] * q[0] + dot(target + 1, q + 1));
    for (i = 0; i < 3; i++) { read[1 + i] = memory->known[0] * v[i]; }
    make_canonical(read);
}
