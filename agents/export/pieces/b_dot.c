/* m = -k dB/dt / |B|^2, or the largest moment against dB/dt; see BDot. */
static void answer(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real B[3], change, factor = DRAG / DT / see_field(observation, B);
    int i;
    for (i = 0; i < 3; i++) {
        change = memory->begun ? B[i] - memory->field[i] : 0;
        memory->field[i] = B[i];
        action[i] = BANG_BANG ? (real)((change < 0) - (change > 0)) : clipped(-factor * change / FULL[i], 1);
    }
}
