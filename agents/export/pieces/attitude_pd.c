/* u = J (-k v - d (omega - wanted) + wanted x omega + a) + omega x J omega, v the vector part of the
   quaternion of positive scalar part, a the target's acceleration where it moves. */
static void torque(const real q[4], const real omega[3], const real wanted[3], real u[3])
{
    real turn[3], sign = q[0] < 0 ? -1 : 1;
    int i;
    for (i = 0; i < 3; i++)
        turn[i] = -STIFFNESS * sign * q[1 + i] - DRAG * (omega[i] - wanted[i]);
    add_cross(wanted, omega, turn);
#ifdef MOVING
    add_acceleration(q, wanted, turn);
#endif
    for (i = 0; i < 3; i++)
        u[i] = dot(INERTIA[i], turn);
    add_gyroscopic_torque(omega, u);
    limit(u);
}
