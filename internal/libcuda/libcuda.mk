# libcuda.mk: what it takes to build against the CUDA driver with no CUDA
# toolkit and no driver on the machine. For the top Makefile to include, from
# the module's root:
#
#     include internal/libcuda/libcuda.mk
#
#     bin/autotune: $(LIBCUDA)
#         $(CUDA_ENV) go build -tags cuda -o $@ ./cmd/autotune
#
# LIBCUDA is the archive that must exist first; CUDA_ENV are the variables that
# let cgo find the header and the archive before any that a toolkit installed.
# Include it below the first rule, which is what a bare make makes.

CC ?= cc
AR ?= ar

LIBCUDA_SOURCE := internal/libcuda
LIBCUDA_BUILD := build/libcuda
LIBCUDA := $(LIBCUDA_BUILD)/libcuda.a
LIBCUDA_CFLAGS := -std=c11 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Wpedantic

CUDA_ENV = CGO_ENABLED=1 \
	CGO_CFLAGS="-O2 -I$(CURDIR)/$(LIBCUDA_SOURCE)" \
	CGO_LDFLAGS="-L$(CURDIR)/$(LIBCUDA_BUILD) -lcuda -ldl -lpthread"

$(LIBCUDA): $(LIBCUDA_BUILD)/libcuda.o
	rm -f $@
	$(AR) rcs $@ $<

$(LIBCUDA_BUILD)/libcuda.o: $(LIBCUDA_SOURCE)/stubs/libcuda.c $(LIBCUDA_SOURCE)/stubs/functions.def $(LIBCUDA_SOURCE)/cuda.h
	@mkdir -p $(LIBCUDA_BUILD)
	$(CC) $(LIBCUDA_CFLAGS) -I$(LIBCUDA_SOURCE) -c -o $@ $<
