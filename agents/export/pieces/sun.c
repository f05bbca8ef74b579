static void shrink(real v[3])
{
    const real size = FMAX(SQRT(dot(v, v) + (real)1e-12), (real)0.5);
    int i;
    for (i = 0; i < 3; i++) { v[i] /= size; }
}

/* Keeps the direction of the Sun in the shadow too; the network reads it, see SunDirection. */
static void remember(rbgym_memory *memory, real seen[OBSERVATIONS + REMEMBERED])
{
    const real *cells = seen + COLUMN;
    real before[3], sun[3], omega[3], first[3] = {0, 0, 0}, second[3] = {0, 0, 0};
    real share = (real)0, known;
    int i, k;
    for (i = 0; i < 3; i++) {
        before[i] = memory->started != 0 ? memory->kept[i] : (real)0;
        sun[i] = before[i];
        omega[i] = TURN * seen[RATES + i];
    }
    known = dot(before, before) > (real)0.25 ? (real)1 : (real)0;
    for (k = 0; k < CELLS; k++) {
        if (cells[k] > (real)0.1) { share = (real)1 - ((real)1 - SHARE) * known; }
    }
    for (k = 0; k < CELLS; k++) {
        const real expected = FMAX(dot(NORMALS[k], before), (real)0);
        for (i = 0; i < 3; i++) { sun[i] += NORMALS[k][i] * (share * (cells[k] - expected)); }
    }
    shrink(sun);
    add_cross(sun, omega, first);
    add_cross(first, omega, second);
    for (i = 0; i < 3; i++) {
        seen[OBSERVATIONS + i] = sun[i];
        memory->kept[i] = sun[i] + first[i] + (real)0.5 * second[i];
    }
    shrink(memory->kept);
}
