/* u = -K (p, omega), p the rotation vector from target to body. */
static void torque(const real q[4], const real omega[3], const real wanted[3], real u[3])
{
    real p[3], sign = q[0] < 0 ? -1 : 1;
    int i;
    (void)wanted;
    for (i = 0; i < 3; i++)
        p[i] = sign * q[1 + i];
    as_angle(p, fabs(q[0]));
    for (i = 0; i < 3; i++)
        u[i] = -2 * dot(GAIN[i], p) - dot(GAIN[i] + 3, omega);
    limit(u);
}
