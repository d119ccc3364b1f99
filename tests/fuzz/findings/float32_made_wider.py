"""A float32 function's result as float64: its error is counted in units of float32."""

SOURCE = """\
@vectorize(['float64(uint8, float64)', 'float32(int8, uint32)', 'float32(int8, int32)'], target='parallel')
def q0(b0, b1):
    m1 = math.atan(np.float32(b0))
    return m1

@host
def main(m0, b0):
    n3 = q0(m0, b0)
    return n3
"""
CALLS = [
    ["mk('bool', (3, 3), 'M', '010000000000000001', 0)", '65534'],
]
PROMOTION = 'treadle'
OPTIONS = {'boundscheck': False, 'grain': 1}
