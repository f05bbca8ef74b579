static void answer(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real u[3];
    const sight now = look(memory, observation);
    int i;
    torque(&now, u);
    for (i = 0; i < 3; i++) { action[i] = LIMITS[i] > (real)0 ? u[i] / LIMITS[i] : (real)0; }
}
