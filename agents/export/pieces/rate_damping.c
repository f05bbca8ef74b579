/* u = -J omega / T. */
static void torque(const real q[4], const real omega[3], const real wanted[3], real u[3])
{
    int i;
    (void)q, (void)wanted;
    for (i = 0; i < 3; i++)
        u[i] = -dot(INERTIA[i], omega) / TIME;
    limit(u);
}
