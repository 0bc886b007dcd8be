#!/usr/bin/env python3
"""Prints the fitted polynomial coefficients of tanh.hpp and erf.hpp, highest power first, and their errors.

Chebyshev fits by mpmath (Debian: python3-mpmath), rounded to binary64:
    /usr/bin/python3 src/numerics/coefficients.py
"""
from mpmath import chebyfit, erfc, exp, factorial, mp, mpf, nstr, pi, sqrt, tanh

mp.dps = 60


def show(name, coefficients, error):
    print(f"{name}: error {nstr(error, 3)}")
    print("    " + ", ".join(float(c).hex() for c in coefficients))


def tanh_rest(z):
    """(tanh(a)/a - 1)/z at z = a^2."""
    a = sqrt(z)
    return mpf(-1) / 3 + 2 * z / 15 if z < mpf(10) ** -24 else (tanh(a) / a - 1) / z


def scaled_complement(u):
    """e^(a^2) erfc(a) at u = (a - 3)/(a + 3)."""
    a = 3 * (1 + u) / (1 - u)
    return erfc(a) * exp(a * a)


show("tanh", *chebyfit(tanh_rest, [mpf(0), mpf("0.625") ** 2], 13, error=True))
show("erf from 0.5 on", *chebyfit(scaled_complement, [mpf(-1), mpf(1) / 7], 18, error=True))
series = [2 / sqrt(pi) * (-1) ** n / (factorial(n) * (2 * n + 1)) for n in reversed(range(13))]
show("erf below 0.5", series, 2 / sqrt(pi) * mpf("0.25") ** 13 / (factorial(13) * 27))
