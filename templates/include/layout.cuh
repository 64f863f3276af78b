// layout.cuh: the layout of images in memory: channel after channel, or, with CHANNELS_LAST, all channels of a place
// side by side. A place is one of the `volume` elements of a channel.
#pragma once
#ifndef CHANNELS_LAST
#define CHANNELS_LAST 0
#endif

// Strides are the distances in memory between neighbouring images, channels and places.
struct Strides {
    long long image, channel, place;
    __host__ __device__ constexpr Strides(bool channels_last, long long channels, long long volume)
        : image(channels * volume), channel(channels_last ? 1 : volume), place(channels_last ? channels : 1) {}
};

// Spot computes the image, channel and place of the i-th element in memory.
struct Spot {
    long long image, channel, place;
    __host__ __device__ constexpr Spot(bool channels_last, long long channels, long long volume, long long i)
        : image(i / (channels * volume)), channel(channels_last ? i % channels : i / volume % channels),
          place(channels_last ? i / channels % volume : i % volume) {}
};
