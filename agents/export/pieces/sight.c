/* The inputs of a law: the attitude, the rates of body and target [rad/s] and the acceleration of
   the target [rad/s^2], body axes; and its memory. */
typedef struct {
    const real *q;
    real omega[3], wanted[3], swing[3];
    rbgym_memory *memory;
} sight;
