#ifdef RBGYM_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* a * b + c with one rounding, as where the policy was trained; without, where that is slow. */
#ifdef RBGYM_NO_FMA
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#else
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#endif

/* observation: as in the table above; action: what is commanded, each part within +-1, and zeros
   where an observation is no finite number. */
void rbgym_act(const real observation[OBSERVATIONS], real action[ACTIONS]);
