// The name of the instruction set that this translation unit is compiled for, and how element functions are inlined.
#pragma once

// Kernels are compiled once per instruction set with -DASSAY_ISA=baseline, avx2 or avx512, those of CUDA's sources with
// simulated_baseline … and by nvcc with cuda, some once more for the profile fast with -DASSAY_FAST
// -DASSAY_ISA=fast_baseline …, and those of the cpu device for hypotheses with -DASSAY_HYPOTHESIS
// -DASSAY_ISA=hypothesis and contracted. Everything inline that they use stands in an inline namespace of that name, so
// that the linker can never take one build's copy for another's.
#ifndef ASSAY_ISA
#define ASSAY_ISA baseline
#endif

// clang leaves a long inline function out of line, which also stops the loop around it from being vectorised.
#ifdef __CUDACC__
#define ASSAY_INLINE __host__ __device__ __forceinline__
#else
#define ASSAY_INLINE [[gnu::always_inline]] inline
#endif
