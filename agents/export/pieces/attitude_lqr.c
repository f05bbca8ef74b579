/* u = -K (p, omega), p the rotation vector from target to body. */
static void torque(const sight *now, real u[3])
{
    real p[3];
    int i;
    nearer(now->q, p);
    as_angle(p, FABS(now->q[0]));
    for (i = 0; i < 3; i++) { u[i] = -(real)2 * dot(GAIN[i], p) - dot(GAIN[i] + 3, now->omega); }
    limit(u);
}
