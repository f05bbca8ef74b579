/* Turns the body towards the target, and compensates its gyroscopic torque; see AttitudePD. */
static void torque(const sight *now, real u[3])
{
    real v[3];
    nearer(now->q, v);
    ease(v);
    turning(v, now->omega, now->wanted, now->swing, u);
    add_gyroscopic_torque(now->omega, u);
    limit(u);
}
