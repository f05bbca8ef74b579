static void answer(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real u[3], B[3];
    const sight now = look(memory, observation);
    torque(&now, u);
    magnetise(see_field(observation, B), B, u, action);
}
