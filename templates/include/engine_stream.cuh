// engine_stream.cuh: the variant of stream.cuh with bulk copies (cp.async.bulk): one bulk copy loads each input row,
// and one stores the outputs of each step.
//
// One warp requests all input rows at the start; each step waits for its rows at its own mbarrier. The outputs of a
// step are collected in shared memory, from which a bulk copy stores them after a barrier.
#pragma once
#include "bulk_copy.cuh"
#include "strip.cuh"

#if COPY_ENGINE

struct EngineStream : Strip {
    static constexpr int Line = 32; // floats in 128 bytes
    static constexpr int InsideBegin = PADDING_W + STAGE_LEAD; // first column in shared memory that lies inside the image
    static constexpr int InsideEnd = ENGINE_W + InsideBegin < PITCH ? ENGINE_W + InsideBegin : PITCH;
    static constexpr int RowBytes = 4 * (InsideEnd - InsideBegin);
    static_assert(ENGINE_W % 4 == 0 && STAGE_LOAD == 4 && STEPS <= 32, "a bulk load moves whole vectors of four");

    Mbarrier* arrived; // one mbarrier per step
    float* band;       // input rows
    float* run;        // outputs, aligned to 128-byte lines as in the tensor

    __device__ __forceinline__ EngineStream(const float* x, float* shared, float outside)
        : arrived(reinterpret_cast<Mbarrier*>(shared)), band(shared + BARRIERS),
          run(band + STAGED + gather_skew(output_at(tile.row))) {
        if (thread() < 32) request(x, thread());
        fill_outside(outside);
        __syncthreads();
    }

    // request starts all loads and must be called by one warp. Each lane initialises the mbarrier of a step, then loads
    // rows.
    __device__ __forceinline__ void request(const float* x, int lane) {
        if (lane < steps) {
            mbarrier_init(arrived + lane, 1);
            publish_to_async_proxy();
            const int begin = lane == 0 ? 0 : HALO_ROWS + lane * FRESH_ROWS, end = HALO_ROWS + (lane + 1) * FRESH_ROWS;
            mbarrier_expect(arrived + lane, count_loaded(begin, end) * RowBytes);
        }
        __syncwarp();
        const float* from = x + (tile.plane * H + first_row()) * W;
        for (int i = lane; i < HALO_ROWS + steps * FRESH_ROWS; i += 32) {
            if (!is_loaded(i)) continue;
            const int its_step = i < HALO_ROWS ? 0 : (i - HALO_ROWS) / FRESH_ROWS;
            bulk_load(band + i * PITCH + InsideBegin, from + (long long)i * W, RowBytes, arrived + its_step);
        }
    }

    __device__ __forceinline__ bool is_loaded(int i) const { return row_is_read(i) && row_inside(first_row() + i); }

    __device__ __forceinline__ int count_loaded(int begin, int end) const {
        if (STRIDE_H <= SPAN_H) // all rows inside the image are loaded
            return max(min(first_row() + end, H) - max(first_row() + begin, 0), 0);
        int count = 0;
        for (int i = begin; i < end; ++i) count += is_loaded(i);
        return count;
    }

    // fill_outside writes padding to the rows and columns in shared memory that lie outside of the image.
    __device__ __forceinline__ void fill_outside(float outside) {
        constexpr int Margin = InsideBegin + PITCH - InsideEnd;
        if constexpr (Margin > 0) {
            for (int k = thread(); k < STAGED_ROWS * Margin; k += Threads) {
                const int at = k % Margin;
                band[k / Margin * PITCH + (at < InsideBegin ? at : at - InsideBegin + InsideEnd)] = outside;
            }
        }
        const int above = min(max(-first_row(), 0), STAGED_ROWS), below = min(max(H - first_row(), 0), STAGED_ROWS);
        for (int k = thread(); k < above * PITCH; k += Threads) band[k] = outside;
        for (int k = below * PITCH + thread(); k < STAGED_ROWS * PITCH; k += Threads) band[k] = outside;
    }

    __device__ __forceinline__ void begin() { mbarrier_wait(arrived + step, 0); }

    __device__ __forceinline__ void load_row(float (&span)[SPAN], int i) const {
        load_span_of(span, band + ((row - tile.row) * STRIDE_H + i) * PITCH);
    }

    // store_row collects the outputs of the thread's row r in shared memory.
    __device__ __forceinline__ void store_row(float*, int r, const float (&outputs)[VEC]) const {
        if (row + r < H_OUT) gather<VEC>(run + (row - tile.row + r) * W_OUT, column, outputs);
    }

    __device__ __forceinline__ void end(float* y) {
        publish_to_async_proxy();
        __syncthreads();
        if (thread() < 32) store(y, thread());
        ++step;
        row += StepRows;
    }

    // store stores the 128-byte lines that the step has completed, and at the last step the rest. All lanes of one warp
    // must call store.
    __device__ __forceinline__ void store(float* y, int lane) const {
        const int skew = gather_skew(output_at(tile.row));
        const float* lines = run - skew;
        float* to = y + output_at(tile.row) - skew;
        const int count = min((step + 1) * StepRows, H_OUT - tile.row) * W_OUT;
        const int begin = max((skew + step * StepRows * W_OUT) / Line * Line, skew);
        const int end = step + 1 == steps ? skew + count : (skew + count) / Line * Line;

        const int vectors = round_up(begin, 4), vectors_end = max(end / 4 * 4, vectors);
        if (lane == 0 && vectors < vectors_end) {
            bulk_store_hinted<STREAMING>(to + vectors, lines + vectors, 4 * (vectors_end - vectors));
            bulk_store_commit();
        }
        if (begin + lane < min(vectors, end)) to[begin + lane] = lines[begin + lane];
        if (vectors_end + lane < end) to[vectors_end + lane] = lines[vectors_end + lane];
    }

    // finish waits until the bulk stores have read all outputs from shared memory.
    __device__ __forceinline__ void finish() const {
        if (thread() == 0) bulk_store_wait_read();
    }
};

#endif
