// Rounding to fp16 and back for one instruction set.

INLINE vec rounded_(vec v) {
  fhvec h = __builtin_convertvector(v, fhvec);
  return __builtin_convertvector(h, vec);
}

static void narrowHalf(const float *x, uint16_t *y, size_t count) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    fhvec h = __builtin_convertvector(load(x + i), fhvec);
    memcpy(y + i, &h, sizeof h);
  }
  for (; i < count; i++) {
    _Float16 h = (_Float16)x[i];
    memcpy(y + i, &h, sizeof h);
  }
}

INLINE uint32_t count_(ivec mask) {
  uint32_t count = 0;
  for (int i = 0; i < LANES; i++) count += (uint32_t)(mask[i] != 0);
  return count;
}

static void roundHalf(const float *x, float *y, size_t count, bool flush, tk_health *health) {
  const vec zero = splat(0), smallest = splat(6.103515625e-5f), beyond = splat(65504.f);
  vec largest = splat(health->largest);
  for (size_t i = 0; i < count; i += LANES) {
    float tail[LANES] = {0};
    size_t lanes = count - i < LANES ? count - i : LANES;
    vec v;
    if (lanes == LANES) {
      v = load(x + i);
    } else {
      memcpy(tail, x + i, lanes * 4);
      v = load(tail);
    }
    vec r = rounded_(v);
    vec size = max_(r, -r);
    ivec isSubnormal = (size < smallest) & (size > zero);
    if (flush) {
      if (count_(isSubnormal)) health->flushed += count_(isSubnormal);
      r = select_(isSubnormal, zero, r);
    }
    ivec isFinite = size <= beyond;
    if (count_(~isFinite)) {
      ivec isNaN = ~(r == r);
      health->nans += count_(isNaN);
      health->overflows += count_((size > beyond) & (max_(v, -v) <= splat(3.4028234e38f)));
    }
    largest = max_(largest, select_(isFinite, size, zero));
    if (lanes == LANES) {
      store(y + i, r);
    } else {
      store(tail, r);
      memcpy(y + i, tail, lanes * 4);
    }
  }
  health->largest = peak_(largest);
}
