/* What CUDA C has beyond C++, for device functions that treadle.cuda links into kernels.
 *
 * It is included before each .cu file, which clang or another C++ compiler makes code of for the host (the emulated
 * device) or clang for a GPU; no toolkit is there. Nothing of it makes code by itself. Names of math.h are libdevice's
 * on a GPU (__nv_*), the C library's on the host. There threadIdx and its kin are asked of the runtime, which a kernel
 * tells before it calls; shared memory is a thread's of the host, which runs a block; barriers are refused, as threads
 * of a block take turns. Macros stand for names that clang has already. */
#ifndef TREADLE_DEVICE_H
#define TREADLE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#ifndef __restrict__
#define __restrict__ __restrict
#endif

#if defined(__CUDA__) /* clang for a GPU */
#define TREADLE_GPU 1
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define TREADLE_FN static __attribute__((device, always_inline))
#else
#define TREADLE_GPU 0
#define __device__
#define __constant__ const
#define __shared__ static __thread
#define TREADLE_FN static inline __attribute__((always_inline, unused))
#endif

/* --- vector types --- */

#define TREADLE_VECTOR(T, name)                                                      \
    typedef struct name##1 { T x; } name##1;                                         \
    typedef struct __attribute__((aligned(2 * sizeof(T)))) name##2 { T x, y; } name##2; \
    typedef struct name##3 { T x, y, z; } name##3;                                   \
    typedef struct __attribute__((aligned(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16))) name##4 { T x, y, z, w; } name##4; \
    TREADLE_FN name##1 make_##name##1(T x) { name##1 v = {x}; return v; }              \
    TREADLE_FN name##2 make_##name##2(T x, T y) { name##2 v = {x, y}; return v; }      \
    TREADLE_FN name##3 make_##name##3(T x, T y, T z) { name##3 v = {x, y, z}; return v; } \
    TREADLE_FN name##4 make_##name##4(T x, T y, T z, T w) { name##4 v = {x, y, z, w}; return v; }
TREADLE_VECTOR(int, int)
TREADLE_VECTOR(unsigned, uint)
TREADLE_VECTOR(float, float)
TREADLE_VECTOR(double, double)
TREADLE_VECTOR(long long, longlong)

struct dim3 {
    unsigned x, y, z;
    __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
};
#define warpSize 32

/* --- bits --- */

TREADLE_FN int __popc(unsigned x) { return __builtin_popcount(x); }
TREADLE_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
TREADLE_FN int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
TREADLE_FN int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
TREADLE_FN int __ffs(int x) { return __builtin_ffs(x); }
TREADLE_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
TREADLE_FN int __float_as_int(float x) { int r; __builtin_memcpy(&r, &x, 4); return r; }
TREADLE_FN float __int_as_float(int x) { float r; __builtin_memcpy(&r, &x, 4); return r; }
TREADLE_FN long long __double_as_longlong(double x) { long long r; __builtin_memcpy(&r, &x, 8); return r; }
TREADLE_FN double __longlong_as_double(long long x) { double r; __builtin_memcpy(&r, &x, 8); return r; }
#define __ldg(p) (*(p))

/* --- mathematics --- */

#if TREADLE_GPU
#define TREADLE_M1(name)                                            \
    extern "C" __device__ double __nv_##name(double);               \
    extern "C" __device__ float __nv_##name##f(float);              \
    TREADLE_FN double name(double x) { return __nv_##name(x); }     \
    TREADLE_FN float name(float x) { return __nv_##name##f(x); }    \
    TREADLE_FN float name##f(float x) { return __nv_##name##f(x); }
#define TREADLE_M2(name)                                                            \
    extern "C" __device__ double __nv_##name(double, double);                       \
    extern "C" __device__ float __nv_##name##f(float, float);                       \
    TREADLE_FN double name(double x, double y) { return __nv_##name(x, y); }        \
    TREADLE_FN float name(float x, float y) { return __nv_##name##f(x, y); }        \
    TREADLE_FN float name##f(float x, float y) { return __nv_##name##f(x, y); }
TREADLE_M1(rsqrt) TREADLE_M1(cbrt) TREADLE_M1(exp) TREADLE_M1(exp2) TREADLE_M1(exp10) TREADLE_M1(expm1)
TREADLE_M1(log) TREADLE_M1(log2) TREADLE_M1(log10) TREADLE_M1(log1p) TREADLE_M1(sin) TREADLE_M1(cos) TREADLE_M1(tan)
TREADLE_M1(asin) TREADLE_M1(acos) TREADLE_M1(atan) TREADLE_M1(sinh) TREADLE_M1(cosh) TREADLE_M1(tanh) TREADLE_M1(asinh)
TREADLE_M1(acosh) TREADLE_M1(atanh) TREADLE_M1(erf) TREADLE_M1(erfc) TREADLE_M1(tgamma) TREADLE_M1(lgamma)
TREADLE_M1(floor) TREADLE_M1(ceil) TREADLE_M1(trunc) TREADLE_M1(round) TREADLE_M1(rint) TREADLE_M1(fabs)
TREADLE_M2(pow) TREADLE_M2(atan2) TREADLE_M2(fmod) TREADLE_M2(hypot) TREADLE_M2(fmin) TREADLE_M2(fmax) TREADLE_M2(copysign)
TREADLE_FN double sqrt(double x) { return __nvvm_sqrt_rn_d(x); } /* libdevice's is an estimate unless it is told otherwise */
TREADLE_FN float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
TREADLE_FN float sqrt(float x) { return __nvvm_sqrt_rn_f(x); }
TREADLE_FN double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
TREADLE_FN float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

#define TREADLE_SREG(type, name)                                                                    \
    (type{(unsigned)__nvvm_read_ptx_sreg_##name##_x(), (unsigned)__nvvm_read_ptx_sreg_##name##_y(), \
          (unsigned)__nvvm_read_ptx_sreg_##name##_z()})
#define threadIdx TREADLE_SREG(uint3, tid)
#define blockIdx TREADLE_SREG(uint3, ctaid)
#define blockDim TREADLE_SREG(dim3, ntid)
#define gridDim TREADLE_SREG(dim3, nctaid)
#define __threadfence() __nvvm_membar_gl()
#define __threadfence_block() __nvvm_membar_cta()
#define __threadfence_system() __nvvm_membar_sys()
#else
#include <math.h>
#if defined(__clang__) /* it is linked to the kernel, which finds this by name */
extern "C" unsigned tr_rt_placed(int) __attribute__((pure));
extern "C" void __syncthreads(void);
#define TREADLE_PLACED(k) tr_rt_placed(k)
#else /* who opens the library says where it is */
extern "C" {
inline __attribute__((visibility("default"))) unsigned (*treadle_placed)(int) = nullptr; /* there where it is used */
void __syncthreads(void) __attribute__((error("a barrier in a linked function is for GPUs: on the emulated device it stands in the kernel")));
}
#define TREADLE_PLACED(k) treadle_placed(k)
#endif
#define threadIdx (uint3{TREADLE_PLACED(0), TREADLE_PLACED(1), TREADLE_PLACED(2)})
#define blockIdx (uint3{TREADLE_PLACED(3), TREADLE_PLACED(4), TREADLE_PLACED(5)})
#define blockDim (dim3{TREADLE_PLACED(6), TREADLE_PLACED(7), TREADLE_PLACED(8)})
#define gridDim (dim3{TREADLE_PLACED(9), TREADLE_PLACED(10), TREADLE_PLACED(11)})
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_block() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define __threadfence_system() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define rsqrt(x) (1.0 / sqrt((double)(x)))
#define rsqrtf(x) (1.0f / sqrtf(x))
#endif
#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __powf(x, y) powf(x, y)
#define __fmaf_rn(x, y, z) __builtin_fmaf(x, y, z)
#define __fma_rn(x, y, z) __builtin_fma(x, y, z)
#define __fdividef(x, y) ((x) / (y))

/* --- atomics: they order nothing else --- */

#define TREADLE_ATOMIC(T)                                                                                          \
    TREADLE_FN T atomicAdd(T *p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }                         \
    TREADLE_FN T atomicSub(T *p, T v) { return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED); }                         \
    TREADLE_FN T atomicAnd(T *p, T v) { return __atomic_fetch_and(p, v, __ATOMIC_RELAXED); }                         \
    TREADLE_FN T atomicOr(T *p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }                           \
    TREADLE_FN T atomicXor(T *p, T v) { return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED); }                         \
    TREADLE_FN T atomicExch(T *p, T v) { return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); }                       \
    TREADLE_FN T atomicCAS(T *p, T old, T v) {                                                                     \
        __atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                        \
        return old;                                                                                                \
    }                                                                                                              \
    TREADLE_FN T atomicMax(T *p, T v) {                                                                            \
        T old = *p;                                                                                                \
        while (old < v && !__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}   \
        return old;                                                                                                \
    }                                                                                                              \
    TREADLE_FN T atomicMin(T *p, T v) {                                                                            \
        T old = *p;                                                                                                \
        while (v < old && !__atomic_compare_exchange_n(p, &old, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}   \
        return old;                                                                                                \
    }
TREADLE_ATOMIC(int)
TREADLE_ATOMIC(unsigned)
TREADLE_ATOMIC(unsigned long long)

#define TREADLE_ATOMIC_FLOAT(T, I)                                                                       \
    TREADLE_FN T atomicAdd(T *p, T v) {                                                                  \
        I old = *(I *)p, next;                                                                           \
        T x;                                                                                             \
        do {                                                                                             \
            __builtin_memcpy(&x, &old, sizeof x);                                                        \
            T sum = x + v;                                                                               \
            __builtin_memcpy(&next, &sum, sizeof sum);                                                   \
        } while (!__atomic_compare_exchange_n((I *)p, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
        return x;                                                                                        \
    }
TREADLE_ATOMIC_FLOAT(float, unsigned)
TREADLE_ATOMIC_FLOAT(double, unsigned long long)

#endif
