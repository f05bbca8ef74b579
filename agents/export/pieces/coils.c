/* m = B x u / |B|^2, shortened but not turned; see MagneticAllocation. */
static void answer(const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real u[3], B[3], m[3] = {0, 0, 0}, square;
    int i;
    law(observation, u);
    for (i = 0; i < 3; i++)
        B[i] = observation[FIRST + i] * FIELD;
    add_cross(B, u, m);
    square = fmax(dot(B, B), (real)1e-18);
    for (i = 0; i < 3; i++)
        m[i] = m[i] / square / DIPOLE;
    for (i = 0; i < 3; i++)
        action[i] = m[i] * shortening(m, 3);
}
