"""A row and an element of it: iterations of a prange loop do not meet, so nothing is collected in copies, which would round otherwise."""

SOURCE = """\
@parallel
def main(a0, a1, a2, o0, b0, b1, b2):
    for i1 in prange(len(a2)):
        a2[i1] -= 1
        a2[i1, 1] += 1
"""
CALLS = [
    ["mk('float64', (2, 4), 'C', '08c48bb07b6b22c0000000000000f0bf00000000000010c0a070d894fa2d16c001000000000000000100000000000000763b7730d142ee7f0000000000000c40', 0)", "mk('float64', (4, 2), 'C', '026abbe199bcc040f8a72c41007ebb40000000000000f03f763b7730d142eeff000000000000f0ff987abce63dff0bc00000000000000840c60fe39c88711440', 0)", "mk('float64', (5, 4), 'C', '0cb75175d178aec0806262646f822340000000000000e0bf00000000000008c0234a772d799b10c0086156a7605e044035c6a66c0c09c1c00000000000000cc068b032ef3b4b18408622722b4921bbc0000000000000f87f7ab2aef3d042a5c0000000000000104000000000000000002857f55eef7a07401a2c8f43fecd23403882303c81629b4001000000000000000000000000000cc0bbbdd7d9df7cdb3d', 0)", "mk('float32', (9,), 'F', '48acae400000c03fd70515412dbb0046068d8bbe8687fdc533c902c6605a1146043cb6c5', 0)", 'np.int8(18)', 'np.uint64(18)', 'np.uint64(18)'],
]
PROMOTION = 'treadle'
OPTIONS = {'signature': '(float64[:, ::1], float64[:, ::1], float64[:, ::1], float32[::1], int8, uint64, uint64)', 'grain': 1}
