/* Sums up an attitude error, and appends the sum to what the network reads; see Integral. */
static void sum_up(rbgym_memory *memory, real seen[OBSERVATIONS + 3])
{
    const real *v = seen + SUMMED;
    const real far = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / EDGE_SQUARE;
    const real share = SHARE / (far + (real)1);
    int i;
    for (i = 0; i < 3; i++) {
        const real before = memory->started != 0 ? memory->sum[i] : (real)0;
        memory->sum[i] = clipped(before + v[i] * share, (real)1);
        seen[OBSERVATIONS + i] = memory->sum[i];
    }
}
