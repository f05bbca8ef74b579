/* Sums up an attitude error; the network reads the sum, see Integral. */
static void remember(rbgym_memory *memory, real seen[OBSERVATIONS + REMEMBERED])
{
    const real *v = seen + COLUMN;
    const real far = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / EDGE_SQUARE;
    const real share = SHARE / (far + (real)1);
    int i;
    for (i = 0; i < REMEMBERED; i++) {
        const real before = memory->started != 0 ? memory->kept[i] : (real)0;
        memory->kept[i] = clipped(before + v[i] * share, (real)1);
        seen[OBSERVATIONS + i] = memory->kept[i];
    }
}
