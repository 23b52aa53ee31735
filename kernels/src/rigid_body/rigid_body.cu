// A body's row: position, velocity, radius, 1 / mass. A contact's: normal, wanted speed, effective mass, impulse, impulse of the
// friction. Pairs name bodies by row; GROUND is none. Contacts of one launch of solve_contacts share no body.
#define BODY 8
#define CONTACT 9
#define GROUND 0xffffffffu
#define SLOP 0.005f
#define TAKEN_BACK 0.2f
#define BOUNCE 0.5f

__device__ float dot(const float *a, const float *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// Pairs of bodies that are not there are left out.
__device__ bool there(unsigned a, unsigned b, unsigned bodies) { return a < bodies && (b < bodies || b == GROUND) && a != b; }

extern "C" __global__ void __launch_bounds__(64) accelerate(float *bodies, unsigned count, float x, float y, float z) {
  const unsigned at = blockIdx.x * 64 + threadIdx.x;
  if (at >= count) return;
  float *body = bodies + (size_t)at * BODY;
  body[3] += x, body[4] += y, body[5] += z;
}

extern "C" __global__ void __launch_bounds__(64) advance(float *bodies, unsigned count, float dt) {
  const unsigned at = blockIdx.x * 64 + threadIdx.x;
  if (at >= count) return;
  float *body = bodies + (size_t)at * BODY;
  for (unsigned axis = 0; axis < 3; ++axis) body[axis] += dt * body[3 + axis];
}

extern "C" __global__ void __launch_bounds__(64)
prepare_contacts(const float *bodies, const unsigned *pairs, float *contacts, unsigned count, unsigned body_count, float dt,
                 float restitution) {
  const unsigned at = blockIdx.x * 64 + threadIdx.x;
  if (at >= count) return;
  float *contact = contacts + (size_t)at * CONTACT;
  for (unsigned i = 0; i < CONTACT; ++i) contact[i] = 0.0f;
  if (!there(pairs[at * 2], pairs[at * 2 + 1], body_count)) return;
  const bool ground = pairs[at * 2 + 1] == GROUND;
  const float *a = bodies + (size_t)pairs[at * 2] * BODY, *b = ground ? a : bodies + (size_t)pairs[at * 2 + 1] * BODY;
  float normal[3] = {0.0f, -1.0f, 0.0f}, relative[3], gap = a[1] - a[6];
  for (unsigned axis = 0; axis < 3; ++axis) relative[axis] = (ground ? 0.0f : b[3 + axis]) - a[3 + axis];
  if (!ground) {
    const float between[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    const float distance = sqrtf(dot(between, between));
    for (unsigned axis = 0; axis < 3; ++axis)
      normal[axis] = distance > 0.0f ? between[axis] / distance : axis == 1 ? 1.0f : 0.0f;
    gap = distance - a[6] - b[6];
  }
  const float speed = dot(relative, normal);
  const float touch = gap > 0.0f ? -gap / dt : TAKEN_BACK * fmaxf(-gap - SLOP, 0.0f) / dt;
  const bool bounces = speed < -BOUNCE && gap + speed * dt < 0.0f;
  for (unsigned axis = 0; axis < 3; ++axis) contact[axis] = normal[axis];
  contact[3] = bounces ? fmaxf(touch, -restitution * speed) : touch;
  contact[4] = 1.0f / (a[7] + (ground ? 0.0f : b[7]));
}

extern "C" __global__ void __launch_bounds__(64)
solve_contacts(float *bodies, const unsigned *pairs, float *contacts, unsigned count, unsigned body_count, float friction) {
  const unsigned at = blockIdx.x * 64 + threadIdx.x;
  if (at >= count || !there(pairs[at * 2], pairs[at * 2 + 1], body_count)) return;
  const bool ground = pairs[at * 2 + 1] == GROUND;
  float *contact = contacts + (size_t)at * CONTACT;
  float *a = bodies + (size_t)pairs[at * 2] * BODY, *b = ground ? a : bodies + (size_t)pairs[at * 2 + 1] * BODY;
  float relative[3], rub[3];
  for (unsigned axis = 0; axis < 3; ++axis) relative[axis] = (ground ? 0.0f : b[3 + axis]) - a[3 + axis];
  const float mass = contact[4], along = dot(relative, contact);
  const float push = fmaxf(contact[5] + mass * (contact[3] - along), 0.0f), more = push - contact[5];
  contact[5] = push;
  for (unsigned axis = 0; axis < 3; ++axis) rub[axis] = contact[6 + axis] - mass * (relative[axis] - along * contact[axis]);
  const float size = sqrtf(dot(rub, rub)), most = friction * push;
  const float part = size > most ? most / size : 1.0f;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const float now = rub[axis] * part, impulse = more * contact[axis] + (now - contact[6 + axis]);
    contact[6 + axis] = now;
    a[3 + axis] -= a[7] * impulse;
    if (!ground) b[3 + axis] += b[7] * impulse;
  }
}
