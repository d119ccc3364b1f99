"""A frozen NumPy scalar as an argument of an exception was refused."""

SOURCE = """\
G0 = np.int8(6)

@jit
def main():
    v89 = G0
    if np.uint16(37):
        raise KeyError('message 41', v89)
"""
CALLS = [
    [],
]
PROMOTION = 'treadle'
OPTIONS = {'error_model': 'numpy', 'inline': 'always'}
