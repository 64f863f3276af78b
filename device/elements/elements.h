// elements.h: single elements of tensors of any type, the same on every device:
// how they are drawn, read, written and compared. The CUDA device's kernels and
// the emulator's runtime are compiled with it; ELEMENT says what functions are.

typedef unsigned int u32;
typedef unsigned long long u64;

// The order of these is known to elements.go.
enum ElementType { F64, F32, F16, BF16, F8E4M3, F8E5M2, I64, I32, I16, I8, U64, U32, U16, U8, BOOL };
enum Distribution { UNIFORM01, NORMAL, NEGATIVE, SPECIAL, SYMMETRIC, UNIFORM, NORMAL_OF, INTEGERS, CONSTANT, RANGE, PERMUTATION, SORTED, TINY, LARGE, REPEATED };

ELEMENT int element_bytes(int type) {
    switch (type) {
    case F64: case I64: case U64: return 8;
    case F32: case I32: case U32: return 4;
    case F16: case BF16: case I16: case U16: return 2;
    default: return 1;
    }
}

ELEMENT bool element_floating(int type) { return type <= F8E5M2; }

// What outputs hold before a launch: a NaN that no operation gives, or an odd
// integer. Both words of one of 64 bits are the same: memory is set by words.
ELEMENT u64 element_poison(int type) {
    switch (type) {
    case F64: return 0x7ffbadba7ffbadbaull;
    case F16: case BF16: return 0x7fadu;
    case F8E4M3: return 0xffu; // the one NaN but 0x7f, which conversions give
    case F8E5M2: return 0x7du;
    case BOOL: return 0xadu; // no truth value
    case I64: case U64: return 0x7adbadbb7adbadbbull;
    case I16: case U16: return 0x7badu;
    case I8: case U8: return 0x6bu;
    default: return 0x7fbadbadu;
    }
}

// ---- Bits ----

ELEMENT u64 element_bits(const void* data, u64 i, int type) {
    switch (element_bytes(type)) {
    case 8: return static_cast<const u64*>(data)[i];
    case 4: return static_cast<const u32*>(data)[i];
    case 2: return static_cast<const unsigned short*>(data)[i];
    default: return static_cast<const unsigned char*>(data)[i];
    }
}

ELEMENT void element_set(void* data, u64 i, int type, u64 bits) {
    switch (element_bytes(type)) {
    case 8: static_cast<u64*>(data)[i] = bits; break;
    case 4: static_cast<u32*>(data)[i] = (u32)bits; break;
    case 2: static_cast<unsigned short*>(data)[i] = (unsigned short)bits; break;
    default: static_cast<unsigned char*>(data)[i] = (unsigned char)bits;
    }
}

union DoubleBits {
    double value;
    u64 bits;
};

union FloatBits {
    float value;
    u32 bits;
};

// Small floating types: a sign, exponent bits, mantissa bits. F8E4M3 has no
// infinities: only all ones is a NaN, and the other codes of its highest exponent
// are numbers.
ELEMENT int element_mantissa(int type) { return type == F16 ? 10 : type == BF16 ? 7 : type == F8E4M3 ? 3 : 2; }
ELEMENT int element_exponent(int type) { return type == F16 ? 5 : type == BF16 ? 8 : type == F8E4M3 ? 4 : 5; }

ELEMENT double element_power(int exponent) { // of two
    DoubleBits b;
    b.bits = (u64)(exponent + 1023) << 52;
    return b.value;
}

ELEMENT double element_small(u64 code, int type) {
    const int m = element_mantissa(type), e = element_exponent(type), bias = (1 << (e - 1)) - 1, top = (1 << e) - 1;
    const int exponent = (int)(code >> m) & top;
    const u64 mantissa = code & ((1ull << m) - 1);
    DoubleBits special;
    double value;
    if (exponent == top && (type != F8E4M3 || mantissa == 7)) {
        special.bits = mantissa && !(type == F8E4M3 && mantissa != 7) ? 0x7ff8000000000000ull : 0x7ff0000000000000ull;
        value = special.value;
    } else if (exponent == 0) {
        value = (double)mantissa * element_power(1 - bias - m);
    } else {
        value = (double)(mantissa + (1ull << m)) * element_power(exponent - bias - m);
    }
    return code >> (m + e) & 1 ? -value : value;
}

// To the nearest, ties to even; beyond the largest number to infinity, in F8E4M3 to
// the largest number, as CUDA's conversions saturate. A NaN loses its sign, as there.
ELEMENT u64 element_encode(double value, int type) {
    const int m = element_mantissa(type), e = element_exponent(type), bias = (1 << (e - 1)) - 1, top = (1 << e) - 1;
    DoubleBits b;
    b.value = value;
    const u64 sign = (b.bits >> 63) << (m + e);
    if (value != value) return (u64)top << m | ((1ull << m) - 1);
    int exponent = (int)(b.bits >> 52 & 0x7ff) - 1023;
    const u64 greatest = type == F8E4M3 ? 0x7eull : (u64)top << m; // 448, or infinity
    if (exponent > bias + 1) return sign | greatest;
    int drop = 52 - m; // bits of the double's mantissa that have no place
    if (exponent < 1 - bias) drop += 1 - bias - exponent;
    if (drop > 54) return sign;
    const u64 full = (b.bits & ((1ull << 52) - 1)) | 1ull << 52;
    u64 kept = full >> drop;
    const u64 rest = full & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    if (rest > half || (rest == half && (kept & 1))) ++kept;
    const u64 code = exponent < 1 - bias ? kept : kept + ((u64)(exponent + bias - 1) << m);
    return sign | (code > greatest ? greatest : code);
}

// ---- Numbers ----

ELEMENT bool element_signed(int type) { return type >= I64 && type <= I8; }

// An integer's value; of an unsigned one of 64 bits, its bits.
ELEMENT long long element_integer(const void* data, u64 i, int type) {
    const u64 bits = element_bits(data, i, type);
    const int unused = 64 - 8 * element_bytes(type);
    return element_signed(type) ? (long long)(bits << unused) >> unused : (long long)bits;
}

ELEMENT double element_load(const void* data, u64 i, int type) {
    if (type == F64) return static_cast<const double*>(data)[i];
    if (type == F32) return static_cast<const float*>(data)[i];
    if (element_floating(type)) return element_small(element_bits(data, i, type), type);
    const long long v = element_integer(data, i, type);
    return type == U64 ? (double)(u64)v : (double)v;
}

// Numbers beyond an integer type's range become its nearest.
ELEMENT void element_store(void* data, u64 i, int type, double value) {
    if (type == F64) {
        static_cast<double*>(data)[i] = value;
    } else if (type == F32) {
        static_cast<float*>(data)[i] = (float)value;
    } else if (element_floating(type)) {
        element_set(data, i, type, element_encode(value, type));
    } else if (type == BOOL) {
        element_set(data, i, type, value != 0);
    } else {
        const int bits = 8 * element_bytes(type) - (element_signed(type) ? 1 : 0);
        const double end = element_power(bits); // one beyond the greatest
        const double least = element_signed(type) ? -end : 0;
        u64 v = 0;
        if (value >= end) v = bits == 64 ? ~0ull : (1ull << bits) - 1;
        else if (value <= least) v = element_signed(type) ? ~0ull << bits : 0;
        else if (value == value) v = value < 0 ? (u64)(long long)value : (u64)value;
        element_set(data, i, type, v);
    }
}

// ---- Drawing ----

// The same numbers everywhere: element i of a tensor depends on i and the seed.
ELEMENT u32 hash(u64 i, u32 seed) {
    u64 x = i * 0x9e3779b97f4a7c15ull + seed * 0xd1b54a32d192ed03ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return (u32)((x ^ (x >> 31)) >> 32);
}

ELEMENT float uniform(u64 i, u32 seed) { return (float)(hash(i, seed) >> 8) * 0x1p-24f; }

// Box and Muller's way from two uniform numbers to a normal one.
ELEMENT float normal(u64 i, u32 seed) {
    float u = (float)((hash(2 * i, seed) >> 8) + 1) * 0x1p-24f; // never 0
    float v = uniform(2 * i + 1, seed);
    return sqrtf(-2.0f * logf(u)) * cosf(6.283185307f * v);
}

// Normal numbers, among which some are a NaN, some an infinity and some minus infinity: of
// odd seeds one in 256 each, of even ones eight each in the whole tensor, or one in 256. So
// outputs of which each adds up many elements are not all NaN.
ELEMENT float special(u64 i, u64 count, u32 seed) {
    const u64 often = 1ull << 24, few = (1ull << 35) / (count + 1);
    const u64 share = seed % 2 == 1 || few > often ? often : few, drawn = hash(i, ~seed);
    FloatBits b;
    b.bits = drawn < share ? 0x7fc00000u : drawn < 2 * share ? 0x7f800000u : 0xff800000u;
    return drawn < 3 * share ? b.value : normal(i, seed);
}

ELEMENT float draw(u64 i, u64 count, u32 seed, int distribution, float scale) {
    switch (distribution) {
    case NORMAL: return normal(i, seed);
    case NEGATIVE: return -uniform(i, seed) - 0.5f;
    case SPECIAL: return special(i, count, seed);
    case SYMMETRIC: return (2.0f * uniform(i, seed) - 1.0f) * scale;
    case CONSTANT: return scale;
    case TINY: return uniform(i, seed) * (i % 2 ? scale * 1e-20f : scale); // every second one is subnormal, or 0
    case LARGE: return normal(i, seed) * scale;
    case REPEATED: return (float)(hash(i, seed) >> 30) * scale; // one of four values
    default: return uniform(i, seed);
    }
}

// Where element i goes in a permutation of count: four rounds of a Feistel network
// over the least even number of bits that counts them all, walked until it falls
// among them (Black and Rogaway, Ciphers with arbitrary finite domains, 2002).
ELEMENT u64 permuted(u64 i, u64 count, u32 seed) {
    int half = 1;
    while (half < 32 && (1ull << (2 * half)) < count) ++half;
    const u64 mask = (1ull << half) - 1;
    do {
        u64 left = i >> half, right = i & mask;
        for (u32 round = 0; round < 4; ++round) {
            const u64 next = left ^ (hash(right, seed * 4 + round) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= count);
    return i;
}

// A product that no compiler puts into a fused sum: the same bits everywhere.
ELEMENT double element_product(double x, double y) {
#ifdef __CUDACC_RTC__
    return __dmul_rn(x, y);
#else
    return x * y;
#endif
}

// Element i of count as its type takes it; a and b are the distribution's numbers.
ELEMENT double element_draw(u64 i, u64 count, u32 seed, int distribution, double a, double b) {
    switch (distribution) {
    case UNIFORM: return a + element_product(b - a, uniform(i, seed));
    case NORMAL_OF: return a + element_product(b, normal(i, seed));
    case INTEGERS: { // from a to b, both of them too
        const double x = a + floor((b - a + 1) * ((hash(i, seed) + 0.5) * 0x1p-32));
        return x > b ? b : x;
    }
    case CONSTANT: return a;
    case RANGE: return a + element_product(b, (double)i);
    case PERMUTATION: return (double)permuted(i, count, seed);
    case SORTED: return a + element_product(b - a, ((double)i + uniform(i, seed)) / (double)count);
    default: return draw(i, count, seed, distribution, (float)a);
    }
}

// ---- Comparing ----

// Whether an element is close enough to the reference's: |out - ref| <= atol + rtol
// |ref|. NaN equals only NaN and an infinity only itself. error is the difference
// where both are finite, else -1.
ELEMENT bool element_close(const void* out, const void* ref, u64 i, int type, double atol, double rtol, double* error) {
    if (element_floating(type)) {
        const double got = element_load(out, i, type), want = element_load(ref, i, type);
        *error = 0;
        if (got == want) return true;
        if (got != got && want != want) return element_bits(out, i, type) != element_poison(type);
        const double difference = got < want ? want - got : got - want;
        *error = difference <= 1.7976931348623157e308 ? difference : -1;
        return *error >= 0 && difference <= atol + rtol * (want < 0 ? -want : want);
    }
    const long long got = element_integer(out, i, type), want = element_integer(ref, i, type);
    const bool above = type == U64 ? (u64)got > (u64)want : got > want;
    const u64 apart = above ? (u64)got - (u64)want : (u64)want - (u64)got;
    const double size = type == U64 ? (double)(u64)want : want < 0 ? -(double)want : (double)want;
    *error = (double)apart;
    return apart == 0 || *error <= atol + rtol * size;
}
