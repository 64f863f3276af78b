package packer

// arithmetic is C functions that compute as Python does, and note results that do not fit 64 bits.
const arithmetic = `
#define REFUSED __attribute__((unused))
REFUSED static int64_t add(int64_t a, int64_t b, int* bad) { int64_t r; *bad |= __builtin_add_overflow(a, b, &r); return r; }
REFUSED static int64_t sub(int64_t a, int64_t b, int* bad) { int64_t r; *bad |= __builtin_sub_overflow(a, b, &r); return r; }
REFUSED static int64_t mul(int64_t a, int64_t b, int* bad) { int64_t r; *bad |= __builtin_mul_overflow(a, b, &r); return r; }
REFUSED static int64_t floor_div(int64_t a, int64_t b, int* bad) {
    if (b == 0 || (a == INT64_MIN && b == -1)) return *bad = 1, 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
REFUSED static int64_t modulo(int64_t a, int64_t b, int* bad) { return b == -1 ? 0 : sub(a, mul(floor_div(a, b, bad), b, bad), bad); }
REFUSED static int64_t ceil_div(int64_t a, int64_t b, int* bad) { return sub(0, floor_div(sub(0, a, bad), b, bad), bad); }
REFUSED static int64_t least(int64_t a, int64_t b, int* bad) { (void)bad; return b < a ? b : a; }
REFUSED static int64_t most(int64_t a, int64_t b, int* bad) { (void)bad; return b > a ? b : a; }
REFUSED static int64_t gcd(int64_t a, int64_t b, int* bad) {
    if (a == INT64_MIN || b == INT64_MIN) return *bad = 1, 1;
    while (b) { int64_t r = a % b; a = b; b = r; }
    return a < 0 ? -a : a;
}
REFUSED static int64_t power(int64_t a, int64_t b, int* bad) {
    int64_t r = 1;
    if (b < 0) return *bad = 1, 0;
    for (; b > 0; b /= 2) {
        if (b % 2) r = mul(r, a, bad);
        if (b > 1) a = mul(a, a, bad);
    }
    return r;
}
REFUSED static int64_t within(int64_t n, int64_t least_value, int64_t most_value, int* bad) {
    *bad |= n < least_value || n > most_value;
    return n;
}
REFUSED static double real(int64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}
REFUSED static int refuse(char* why, size_t room, const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(why, room, format, values);
    va_end(values);
    return 0;
}
REFUSED static int fits(const autotune_shape* t, int64_t least_extent) {
    int64_t bytes = t->element_bytes;
    if (bytes < 1) return 0;
    for (int i = 0; i < t->rank; i++) {
        if (t->extent[i] < least_extent || t->extent[i] < 0) return 0;
        if (t->extent[i] > 0 && bytes > INT64_MAX / 32 / t->extent[i]) return 0;
        bytes *= t->extent[i];
    }
    return 1;
}

`
