// layout.cuh: where the elements of images lie in memory: channel after channel, or, where CHANNELS_LAST is
// set, all channels of a place side by side. A place is one of a channel's `volume` elements.
#pragma once
#ifndef CHANNELS_LAST
#define CHANNELS_LAST 0
#endif

// Strides are how far apart neighbouring images, channels and places lie.
struct Strides {
    long long image, channel, place;
    __host__ __device__ constexpr Strides(bool channels_last, long long channels, long long volume)
        : image(channels * volume), channel(channels_last ? 1 : volume), place(channels_last ? channels : 1) {}
};

// Spot is which element the i-th in memory is.
struct Spot {
    long long image, channel, place;
    __host__ __device__ constexpr Spot(bool channels_last, long long channels, long long volume, long long i)
        : image(i / (channels * volume)), channel(channels_last ? i % channels : i / volume % channels),
          place(channels_last ? i / channels % volume : i % volume) {}
};
