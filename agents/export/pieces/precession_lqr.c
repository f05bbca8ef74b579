/* N = -K x along the line of nodes, across it and along the axis; see PrecessionLQR. */
static void torque(const sight *now, real u[3])
{
    const real *omega = now->omega, spin = omega[2] - PRECESSION * COS_NUTATION;
    const real turn = DT / (real)2 * spin, c = COS(turn), s = SIN(turn);
    const real w_x = c * omega[0] + s * omega[1], w_y = c * omega[1] - s * omega[0];
    real vertical_now[3], up[3], x[4], N[3] = {0, 0, 0}, sine, n_x, n_y;
    int i, k;
    vertical(now->q, vertical_now);
    up[0] = c * vertical_now[0] + s * vertical_now[1];
    up[1] = c * vertical_now[1] - s * vertical_now[0];
    up[2] = vertical_now[2];
    sine = FMAX(SQRT(up[0] * up[0] + up[1] * up[1]), (real)1e-6);
    n_x = up[1] / sine; /* and across it (-n_y, n_x) */
    n_y = -up[0] / sine;
    x[0] = ATAN2(sine, up[2]) - ATAN2(SIN_NUTATION, COS_NUTATION);
    x[1] = w_x * n_x + w_y * n_y;
    x[2] = (w_y * n_x - w_x * n_y) / sine - PRECESSION;
    x[3] = omega[2] - ALONG;
    for (i = 0; i < 3; i++) {
        for (k = 0; k < 4; k++) { N[i] -= GAIN[i][k] * x[k]; }
    }
    u[0] = N[0] * n_x - N[1] * n_y;
    u[1] = N[0] * n_y + N[1] * n_x;
    u[2] = 0;
    limit(u);
    u[2] = clipped(N[2], LIMITS[2]);
}
