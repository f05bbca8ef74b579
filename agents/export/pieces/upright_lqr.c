/* u = -K (p, omega - s e), p the tilt and s the desired spin; see UprightLQR and SpinLQR. */
static void torque(const sight *now, real u[3])
{
    real up[3], p[3] = {0, 0, 0}, w[3], along;
    int i;
    vertical(now->q, up);
    p[0] = up[1];
    p[1] = -up[0];
    as_angle(p, up[2]);
    for (i = 0; i < 3; i++) { w[i] = now->omega[i] - WANTED[i]; }
    for (i = 0; i < 3; i++) {
        u[i] = -GAIN[i][0] * p[0] - GAIN[i][1] * p[1] - dot(GAIN[i] + 2, w);
    }
    along = clipped(u[2], LIMITS[2]);
    u[2] = 0;
    limit(u);
    u[2] = along;
}
