// layout.cuh: memory layouts of images: channels first, or channels last if CHANNELS_LAST is set.
#pragma once
#ifndef CHANNELS_LAST
#define CHANNELS_LAST 0
#endif

// Strides are the distances in memory between neighbouring images, channels and pixels.
struct Strides {
    long long image, channel, place;
    __host__ __device__ constexpr Strides(bool channels_last, long long channels, long long volume)
        : image(channels * volume), channel(channels_last ? 1 : volume), place(channels_last ? channels : 1) {}
};

// Spot computes the image, the channel, and the pixel within the channel (`place`) of the element with linear index i.
struct Spot {
    long long image, channel, place;
    __host__ __device__ constexpr Spot(bool channels_last, long long channels, long long volume, long long i)
        : image(i / (channels * volume)), channel(channels_last ? i % channels : i / volume % channels),
          place(channels_last ? i / channels % volume : i % volume) {}
};
