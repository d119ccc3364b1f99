/* The kernels of emulated.py and cuda.py as somebody writes them in CUDA C: what Treadle's are held to on a GPU.
 * Sizes are whole numbers of tiles and blocks, and fit an int. */

#define TILE 32

extern "C" __global__ void copy_stride(const float *a, float *out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = a[i];
}

/* Blocks of 32 by 8 threads. */
extern "C" __global__ void transpose(const float *a, float *out, int side) {
    __shared__ float tile[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x * TILE, by = blockIdx.y * TILE;
    for (int j = 0; j < TILE; j += 8)
        tile[ty + j][tx] = a[(by + ty + j) * side + bx + tx];
    __syncthreads();
    for (int j = 0; j < TILE; j += 8)
        out[(bx + ty + j) * side + by + tx] = tile[tx][ty + j];
}

/* Blocks of 256 threads, for 512 numbers each. */
extern "C" __global__ void reduction(const float *a, float *out) {
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 512 + t;
    s[t] = a[i] + a[i + 256];
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

/* Blocks of TILE by TILE threads. */
extern "C" __global__ void product(const float *a, const float *b, float *out, int side) {
    __shared__ float sa[TILE][TILE], sb[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
    float acc = 0;
    for (int i = 0; i < side; i += TILE) {
        sa[ty][tx] = a[y * side + tx + i];
        sb[ty][tx] = b[(ty + i) * side + x];
        __syncthreads();
        for (int j = 0; j < TILE; j++)
            acc += sa[ty][j] * sb[j][tx];
        __syncthreads();
    }
    out[y * side + x] = acc;
}
