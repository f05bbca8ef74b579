/* F + m times the acceleration of the dock, which turns with the target. */
static void add_swing(const real *observation, real F[3])
{
    real lever[3], wanted[3], drift[3] = {0, 0, 0}, swing[3] = {0, 0, 0};
    int i;
    rotate(observation, -1, ARM, lever);
    for (i = 0; i < 3; i++)
        wanted[i] = observation[COLUMNS - 3 + i] * RATE_LIMIT;
    add_cross(wanted, lever, drift);
    add_cross(wanted, drift, swing);
    add_cross(target_acceleration, lever, swing);
    for (i = 0; i < 3; i++)
        F[i] += MASS * swing[i];
}
