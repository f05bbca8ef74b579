/* u = -J omega / T. */
static void torque(const sight *now, real u[3])
{
    int i;
    for (i = 0; i < 3; i++) { u[i] = -dot(INERTIA[i], now->omega) / TIME; }
    limit(u);
}
