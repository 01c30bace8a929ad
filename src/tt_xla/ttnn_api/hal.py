"""Numbers that TT-NN's ``hal`` tells of the vector unit. It takes the last two for infinity and NaN."""

EPSILON = 1.19209e-07
INFINITY = 1.7014e38
NOT_A_NUMBER = 7.0040e19
