#!/usr/bin/env python3
"""Prints the fitted polynomial coefficients of exp, log, tanh and erf, highest power first, and their errors.

Chebyshev fits by mpmath (Debian: python3-mpmath), rounded to binary64:
    /usr/bin/python3 src/numerics/coefficients.py
"""
from mpmath import chebyfit, erf, erfc, exp, log, mp, mpf, nstr, pi, sqrt, tanh

mp.dps = 60
TINY = mpf(10) ** -20


def exp_rest(r):
    """(e^r - 1 - r)/r^2."""
    return mpf(1) / 2 + r / 6 if abs(r) < TINY else (exp(r) - 1 - r) / r**2


def log_rest(w):
    """(log((1 + s)/(1 - s))/s - 2)/s^2 at w = s^2."""
    s = sqrt(w)
    return mpf(2) / 3 + 2 * w / 5 if w < TINY else (log((1 + s) / (1 - s)) / s - 2) / w


def tanh_rest(z):
    """(tanh(a)/a - 1)/z at z = a^2."""
    a = sqrt(z)
    return mpf(-1) / 3 + 2 * z / 15 if z < TINY else (tanh(a) / a - 1) / z


def erf_ratio(z):
    """erf(a)/a at z = a^2."""
    a = sqrt(z)
    return 2 / sqrt(pi) * (1 - z / 3) if z < TINY else erf(a) / a


def scaled_complement(u):
    """e^(a^2) erfc(a) at u = (a - 3)/(a + 3)."""
    a = 3 * (1 + u) / (1 - u)
    return erfc(a) * exp(a * a)


half_log_2 = log(2) / 2 * mpf("1.0001")
largest_s = (sqrt(2) - 1) / (sqrt(2) + 1)
for name, function, interval, terms in (
    ("exp", exp_rest, [-half_log_2, half_log_2], 10),
    ("log", log_rest, [mpf(0), largest_s**2 * mpf("1.0000001")], 8),
    ("tanh below 0.625", tanh_rest, [mpf(0), mpf("0.625") ** 2], 12),
    ("erf below 0.5", erf_ratio, [mpf(0), mpf("0.25")], 10),
    ("erf from 0.5 on", scaled_complement, [mpf(-1), mpf(1) / 7], 18),
):
    coefficients, error = chebyfit(function, interval, terms, error=True)
    print(f"{name}: error 2^{nstr(log(error, 2), 4)}")
    print("    " + ", ".join(float(c).hex() for c in coefficients))
