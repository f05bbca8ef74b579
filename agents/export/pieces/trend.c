/* Compares an observation with what it was; the network reads the change, see Trend. */
static void remember(rbgym_memory *memory, real seen[OBSERVATIONS + REMEMBERED])
{
    const real *x = seen + COLUMN;
    int i;
    for (i = 0; i < REMEMBERED; i++) {
        const real before = memory->started != 0 ? memory->kept[i] : x[i];
        const real change = x[i] - before;
        memory->kept[i] = before + change * SHARE;
        seen[OBSERVATIONS + i] = change;
    }
}
