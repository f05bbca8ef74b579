/* F + m times the acceleration of the dock, which turns with the target. */
static void add_swing(const sight *now, real F[3])
{
    real lever[3], drift[3] = {0, 0, 0}, swing[3] = {0, 0, 0};
    int i;
    rotate(now->q, -1, ARM, lever);
    add_cross(now->wanted, lever, drift);
    add_cross(now->wanted, drift, swing);
    add_cross(now->swing, lever, swing);
    for (i = 0; i < 3; i++) { F[i] += MASS * swing[i]; }
}
