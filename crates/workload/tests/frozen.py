#!/usr/bin/env python3
"""Prints the frozen figures of this crate's tests: a second implementation of what the docs of
src/rng.rs, src/schedule.rs, src/stream.rs and src/content.rs say, without a line in common.

    python3 crates/workload/tests/frozen.py
"""

import math
import struct

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
ORDER, RUN, ADDRESS, START, OPS, CONTENT = range(1, 7)
ALL_SUBMITTERS = MASK


def mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


class Rng:
    def __init__(self, root, *path):
        key = mix(root + GOLDEN & MASK)
        for element in path:
            key = mix((key + GOLDEN & MASK) ^ mix(element + GOLDEN & MASK))
        self.state = [mix(key + GOLDEN * n & MASK) for n in range(1, 5)]

    def next(self):
        a, b, c, d = self.state
        rotate = lambda x, n: (x << n | x >> 64 - n) & MASK
        result = rotate(a + d & MASK, 23) + a & MASK
        c, d = c ^ a, d ^ b
        self.state = [a ^ d, b ^ c, c ^ (b << 17 & MASK), rotate(d, 45)]
        return result

    def below(self, n):
        # The values of x that keep the draw unbiased are those whose low product is at least 2^64 % n.
        while True:
            product = self.next() * n
            if product & MASK >= (1 << 64) % n:
                return product >> 64

    def unit(self):
        return (self.next() >> 11) / (1 << 53)

    def shuffle(self, items):
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]
        return items


def words(values):
    return ", ".join("0x" + "_".join(f"{v:016x}"[i : i + 4] for i in (0, 4, 8, 12)) for v in values)


def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def distributions():
    for path in [(0,), (7, 1), (MASK, 3, 0, MASK)]:
        rng = Rng(*path)
        print(f"stream {path}:", words(rng.next() for _ in range(4)))
    rng = Rng(42, 9)
    print("below 1,000,003:", [rng.below(1_000_003) for _ in range(4)])
    print("below 2/3 of the range:", [rng.below(MASK // 3 * 2) for _ in range(2)])
    print("unit:", words(bits(rng.unit()) for _ in range(2)))
    print("exponential:", words(bits(-math.log(1 - rng.unit())) for _ in range(4)))
    print("shuffle:", rng.shuffle(list(range(10))))


def schedule():
    def name(text):
        key = 0xCBF29CE484222325
        for byte in text.encode():
            key = (key ^ byte) * 0x100000001B3 & MASK
        return mix(key)

    for block in range(2):
        for step in Rng(11, ORDER, block).shuffle(list(range(4))):
            print(f"slot: ({step}, {words([Rng(11, RUN, name('abcd'[step]), block).next()])})")


def streams(seed=1, slots=100, submitter=1, submitters=3):
    begin, end = (slots * n // submitters for n in (submitter, submitter + 1))
    start = Rng(seed, START, 0, submitter).below(end - begin)
    print("own cursor:", [begin + (start + n) % (end - begin) for n in range(16)])
    start = Rng(seed, START, 0, ALL_SUBMITTERS).below(slots)
    print("shared cursor:", [(start + n) % slots for n in range(16)])
    rng = Rng(seed, ADDRESS, 0, submitter)
    print("random:", [rng.below(slots) for _ in range(16)])
    ops = Rng(seed, OPS, 0, submitter)
    table = "R" * 60 + "W" * 30 + "F" * 10
    letters = "".join(table[ops.below(100)] for _ in range(16))
    rng = Rng(seed, ADDRESS, 0, submitter)
    print("mixed:", letters, [rng.below(slots) for op in letters if op != "F"])


def content(seed=5, submitter=3):
    rng = Rng(seed, CONTENT, submitter)
    pool = [rng.next() for _ in range(4096)]
    salt = Rng(seed, CONTENT).next()
    out = []
    for sector in range(2):
        key = mix((submitter << 48 | sector) ^ salt)
        place = ((key * GOLDEN & MASK) * 64 >> 64) * 64
        out += [key] + [word ^ key for word in pool[place + 1 : place + 64]]
    print("content:", words(out[n] for n in (0, 1, 63, 64, 127)))


distributions()
schedule()
streams()
content()
