"""The coins: exact integer noise from a cryptographic source. Randomness is imported nowhere else in lapwing.

Start at `laws`, which lists the laws and the sampler of each, or at `coins_and_dice`.

::

    laws             the laws: discrete Laplace, geometric, discrete Gaussian, rounded Laplace and Gaussian
    coins_and_dice   biased coins, fair dice, one of many candidates
    sealing          what must survive a crash: the seed of an answer's noise, the state of a stream
    ----------------------------------------------------------------------------------------------------------
    strips           large scales; a strip from a table, a place in it from fair bits, an exact coin
    fine_lattice     any scale at once; one standard variate on a fine lattice, divided; single draws
    ----------------------------------------------------------------------------------------------------------
    decay            the weights e^(-rate j^power), enclosed, summed and inverted exactly; the table for small scales
    randomness       the bits, and draws in advance: time says nothing about noise

Why it is exact, in one paragraph. The uniform number behind a draw is not rounded to 53 bits and then transformed: it
is drawn bit by bit, and the draw is done as soon as every way in which the bits could go on gives the same result. Two
bytes settle nearly all draws, by a table that was built from integers that enclose the true probabilities.
Where two bytes do not settle it, more are drawn, without end if need be. Nothing is approximated, so there is no float
in this folder, and a test reads the source to make sure.

What is not exact: values saturate at the ends of the 64-bit integers, and the variates of the lattice at 128 scales,
which happens with probability below 2^-184 a draw; the generator's key has 256 bits.
"""
