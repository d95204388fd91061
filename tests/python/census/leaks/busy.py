"""A program that calls and returns all the time, with a list that only its outermost function has.

Its heap is large enough that its innermost frames are long over when a census has been through it.
"""


class Item:
    def __init__(self, number):
        self.number = number
        self.text = "item %d" % number


def through_c(depth, wide):
    """Half of the calls go through C, and frames are of different sizes: what stands where one was is another."""
    if depth == 0:
        return wide
    if depth % 2:
        return max([depth, wide], key=lambda one: through_c(depth - 1, one))
    a = b = c = d = e = f = g = wide
    return through_c(depth - 1, a + b) if wide < 1 else c + d + e + f + g


def main():
    rows = [Item(number) for number in range(200_000)]
    print("ready", flush=True)
    while rows:
        for depth in range(40):
            through_c(depth, 0)


main()
