"""What raised again was given to late code, and the block that had done it for the function stayed without a way to it."""

SOURCE = """\
@jit
def main(a0, a1, a2, o0, b0, b1, b2):
    a1[...] = -a1[:1,]
    try:
        v5 = np.int16
    except ZeroDivisionError:
        pass
"""
CALLS = [
    ["mk('int64', (9,), 'C', 'aaaaaaaaaaaaaa2af0fffffffffffffff8fffffffffffffff9ffffffffffffff0200000000000000f8ffffffffffffff0c000000000000000c00000000000000f9ffffffffffffff', 0)", "mk('int32', (4, 3, 4), 'R', 'eeffffff0000000002000000060000000c000000040000000f000000aaaaaa2a0b00000000000080000000804d8faceff5ffffffebdca44f090000001000000007000000f6ffffff0b000000edffffff000000801200000010000000ffffff7ffcffffffaaaaaa2a09000000fbfffffff7fffffff8fffffffeffff7ffbffffff0b000000fbfffffffdffffff010000801000000000000080fbffffffaaaaaa2affffffff080000000f000000edffffffaaaaaa2aaaaaaa2afeffffff12000000', 0)", "mk('uint8', (8,), 'F', '0c100000140e06bc', 0)", "mk('float32', (7,), 'S', '0000c07f7c87ca4000000000000060c000000080c84c82bcc3bdb6c5', 0)", 'np.int8(-2)', 'np.uint32(17)', '-9223372036854775807'],
]
PROMOTION = 'treadle'
OPTIONS = {'signature': '(int64[::1], int32[:, :, :], uint8[::1], float32[:], int8, uint32, int64)', 'way': 'closure'}
