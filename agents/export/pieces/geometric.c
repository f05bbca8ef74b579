/* The torque of AttitudePD with half the sine of the angle; see GeometricTracking. */
static void torque(const sight *now, real u[3])
{
    real v[3];
    int i;
    for (i = 0; i < 3; i++) { v[i] = now->q[0] * now->q[1 + i]; }
    ease(v);
    turning(v, now->omega, now->wanted, now->swing, u);
    add_gyroscopic_torque(now->omega, u);
    limit(u);
}
