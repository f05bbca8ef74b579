static void answer(const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real u[3];
    int i;
    law(observation, u);
    for (i = 0; i < 3; i++)
        action[i] = LIMITS[i] > 0 ? u[i] / LIMITS[i] : 0;
}
