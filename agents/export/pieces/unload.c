/* Commands of coils for the torque -k A h, which unloads the wheels; made: the torque that they
   make. See Unloading. */
static void unload(const real *observation, real commands[3], real made[3])
{
    real u[3] = {0, 0, 0}, B[3], m[3];
    int i, k;
    for (k = 0; k < WHEELS; k++) {
        for (i = 0; i < 3; i++) {
            u[i] -= UNLOADING * observation[FIRST + k] * MOMENTUM * AXES[k][i];
        }
    }
    magnetise(see_field(observation, B), B, u, commands);
    for (i = 0; i < 3; i++) { m[i] = commands[i] * FULL[i]; }
    add_cross(m, B, made);
}
