/* m = -k dB/dt / |B|^2, or the largest moment against dB/dt; see BDot. */
static void answer(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real B[3], change, factor = DRAG / DT / see_field(observation, B);
    int i;
    for (i = 0; i < 3; i++) {
        change = (memory->started != 0) ? B[i] - memory->field[i] : (real)0;
        memory->field[i] = B[i];
        action[i] = clipped(-factor * change / DIPOLE, (real)1);
        if (BANG_BANG != 0) {
            action[i] = change > (real)0 ? -(real)1 : (change < (real)0 ? (real)1 : (real)0);
        }
    }
}
