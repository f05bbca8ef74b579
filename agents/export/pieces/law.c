/* The torque of the law [N m, body axes] for what is observed. */
static void law(const real *observation, real u[3])
{
    real omega[3], wanted[3] = {0, 0, 0};
    int i;
    for (i = 0; i < 3; i++) {
        omega[i] = observation[4 + i] * RATE_LIMIT;
#if COLUMNS > 7
        wanted[i] = observation[COLUMNS - 3 + i] * RATE_LIMIT;
#endif
    }
    torque(observation, omega, wanted, u);
}
